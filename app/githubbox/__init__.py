"""GitHub in a box: a local GitHub with real git, for tests and for `squadron demo`.

Three ways in:

* `Box` (`app.githubbox.box`) in process, through `httpx.ASGITransport(box.asgi)`;
* `python -m app.githubbox`, which introduces itself by one JSON object on its first line;
* a browser: `/` and every `html_url`, with `?live=1` reloading itself.

REST and git are GitHub's, and so are the pages on which a person registers an App from a manifest
and installs it (`registration.py`); one App is installed at a time. What GitHub has no interface
for is an order below `/_box/`, with a JSON body where it is a POST:

* `POST faults`: switches a fault on: `kind`, and as needed `method`, `path`, `event`, `status`,
  `phase`, `seconds`, `retry_after`, `count` (see `faults.Faults.add`)
* `GET faults`, `DELETE faults`: which there are and how often each fired; switches all off
* `GET idle?seconds=N`: answers as soon as no webhook is on its way; 408 after N seconds
* `GET unknown`: the calls that no route answered
* `POST webhook`: `url` (or null), where webhooks go from now on
* `POST webhook_secret`: `secret`; what they are signed with from now on
* `POST keys`: a further private key of the installed App; answers `private_key`, `fingerprint`
* `POST forget_key`: `fingerprint` (or none: the oldest key); GitHub no longer takes that key
* `POST ping`, `POST installation`: sends that event; an installation has an `action`
* `POST silently`: `method`, `path`, `body`, `user`; a REST call of which no webhook tells
* `POST users`: `login`, `permission`; a person, or their new permission; answers a token
* `POST teams`: `org`, `team`, `members` (logins); who is in the team from now on
* `POST protect`: `repository`, `branch`; pushes to it are refused from now on
* `POST require`: `repository`, `branch`, `checks`; only what passes these is merged into it
* `POST visibility`: `repository`, `private`
* `POST drafts`: `repository`, `allowed`; whether its plan has draft pull requests
* `POST fork`: `repository`, `user`; that person's own copy of it, where the App is not installed
* `POST check_action`: `repository`, `check_run_id`, `user`, `identifier`; somebody presses a
  button of a check, or without `identifier` asks for its re-run
* `POST delete_issue`: `repository`, `number`, `user`
* `POST transfer_issue`: the same, and `to`: another repository
* `POST install_further`: `owner`; the App is installed at one more account, for its repositories
* `POST sub_issue`: `repository`, `number`, `sub_issue` (its number)
"""
