"""Which command lines only wait: for those the loop limits have patience while anything changes."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.adapters.shell import parse
from app.testruns.waiting import is_waiting
from tests.detection.table import lines_of_text

PROPERTY = settings(deadline=None, derandomize=True, max_examples=200)

WAITING = [
    "sleep 30",
    "sleep 1m && sleep 2",
    "wait",
    "wait $!",
    "wait -n 12",
    "read -t 5",
    "watch -n 5 kubectl get pods",
    "watch ./status_of_the_build",
    "tail -f server.log",
    "tail -n 100 -F server.log",
    "timeout 60 tail -f server.log",
    "timeout 60 tail -50f server.log || true",
    "journalctl -fu nginx",
    "gh run watch",
    "gh run watch 17 --exit-status",
    "gh run view 17 --json status,conclusion",
    "gh run list --limit 5",
    "gh pr checks 12",
    "gh pr checks 12 --watch",
    "glab ci status",
    "kubectl wait --for=condition=ready pod/web --timeout=60s",
    "kubectl -n prod rollout status deploy/web --watch",
    "kubectl get pods -w",
    "kubectl logs -f web-0",
    "docker wait web",
    "docker logs -f web",
    "docker compose logs -f web",
    "aws cloudformation wait stack-create-complete --stack-name x",
    "inotifywait -e modify src",
    "./scripts/wait-for-db.sh",
    "bash scripts/wait_for_port.sh 5432",
    "wait-for-it db:5432 -t 30",
    "python3 -c 'import time; time.sleep(30)'",
    "python -c \"from time import sleep; sleep(2); print('done')\"",
    "sleep 30 && gh run view 1",
    "sleep 20; tail -5 server.log",
    "sleep 5; curl -s localhost:8080/health",
    "sleep 60 && git status && ls",
    "sleep 10 && docker ps --format '{{.Status}}' | grep healthy",
    "until curl -sf http://localhost:8080; do sleep 1; done",
    "until curl -s -o /dev/null http://localhost; do sleep 1; done",
    "until wget -qO- http://localhost; do sleep 1; done",
    "while ! nc -z localhost 5432; do sleep 1; done",
    "until pg_isready -q; do echo waiting; sleep 2; done",
    "until [ -f done.flag ]; do sleep 1; done",
    "while kill -0 $PID 2>/dev/null; do sleep 1; done",
    "while pgrep -f server; do sleep 3; done",
    "until ./healthcheck.sh; do sleep 2; done",
    "for i in $(seq 1 30); do curl -sf localhost && break; sleep 2; done",
    'while [ "$(gh run view 1 --json status -q .status)" != completed ]; do sleep 9; done',
    's=; until [ "$s" = success ]; do s=$(gh api repos/a/b/actions/runs/1 -q .status); sleep 9; '
    "done; echo $s",
    "bash -c 'sleep 5; cat log.txt'",
    "ssh host 'sleep 5; uptime'",
    "nohup sleep 100",
    "cd web && sleep 3",
    # programs that wait, by any path
    "/bin/sleep 5",
    "watch -n 5 ls",
    "/usr/bin/watch -n 5 ls",
    "watch -n 5 ./deployed.sh",
    "watch 'make -q; ls'",
    "read -r -t 5 answer",
    "tail --follow=name server.log",
    "tail --follow server.log",
    "journalctl -u nginx --follow",
    "await.sh",
    "scripts/await-db",
    "sh ./poll_status.sh",
    "python scripts/wait_for_db.py --seconds 30",
    "node tools/sleep.js",
    # questions to a service, again and again
    "kubectl logs web -f",
    "kubectl get events -f",
    "kubectl events --watch-only",
    "docker --context x logs -f web",
    "docker service logs --follow web",
    "gh pr checks",
    "gh run view 17",
    "glab pipeline status",
    "glab ci view",
    "adb wait-for-device",
    "aws ec2 wait instance-running",
    "kubectl get pods --watch",
    "argocd app get x --wait",
    # beside what only looks
    "sleep 1; git log -3",
    "sleep 1; kubectl get pods web-0 web-1 delete",
    "sleep 1; git diff --stat",
    "sleep 1; aws ec2 describe-instances",
    "sleep 1; gcloud run list-services x",
    "sleep 1; az vm get-instance-view",
    "sleep 1; gh api repos/a/b",
    "sleep 1; gh -R a/b api repos/a/b",
    "sleep 1; curl localhost",
    "sleep 1; curl -s -I localhost",
    "sleep 1; curl -X GET localhost",
    "sleep 1; curl -X HEAD localhost",
    "sleep 1; curl -XGET localhost",
    "sleep 1; curl --request GET localhost",
    "sleep 1; curl -o /dev/null localhost",
    "sleep 1; curl --output - localhost",
    "sleep 1; wget --spider localhost",
    "sleep 1; wget -qO- localhost",
    "sleep 1; wget -qO/dev/null localhost",
    "sleep 1; kill -0 12",
    "sleep 1; find . -name x.log",
    "sleep 1; ./healthcheck",
    "sleep 1; sh bin/is_ready.sh",
    "sleep 1; python tools/status.py",
    "sleep 1; /usr/bin/ls",
    "sleep 1; nvidia-smi",
    # a program's own text
    "ruby -e 'sleep 5'",
    "perl -e 'sleep 5;'",
    "python3.11 -c 'import time; time.sleep(5)'",
    "python -c 'from time import sleep; sleep(5)'",
]
NOT_WAITING = [
    "",
    "ls",
    "echo sleep 30",
    "grep -rn sleep src",
    "cat log.txt",
    "tail -n 50 server.log",
    "less -F server.log",
    "git status",
    "git commit -m wait",
    "git checkout wait",
    "curl -sf localhost:8080/health",
    "kubectl get pods",
    "kubectl get -f pod.yaml",
    "kubectl delete pod wait",
    "docker compose -f x.yml ps",
    "docker compose up --wait",
    "kubectl get events",
    "gh run view 17 --log-failed",
    "gh run rerun 17",
    "gh run cancel 17",
    "gh pr merge 12 --auto",
    "gh workflow run tests.yml",
    "make && sleep 1",
    "sleep 1; make",
    "npm start & sleep 5",
    "python app.py & sleep 5; curl localhost",
    "sleep 5; pytest -q",
    "pytest & wait",
    "watch -n 5 pytest",
    "sleep 5 && sed -i s/a/b/ x.py",
    "sleep 1; echo x > flag",
    "sleep 1; curl -X POST localhost/jobs",
    "sleep 1; curl -d a=b localhost/jobs",
    "sleep 1; curl -o page.html localhost",
    "sleep 1; wget http://localhost/page",
    "sleep 1; kill 12",
    "sleep 1; git commit -m status",
    "sleep 1; gh api repos/a/b/issues -f title=x",
    "sleep 1; find . -name '*.o' -delete",
    "while ! npm install; do sleep 5; done",
    "until pytest; do sleep 1; done",
    "for f in *.py; do black $f; sleep 1; done",
    "npm run watch",
    "tsc --watch",
    "wait-for-it db:5432 -- npm start",
    "./scripts/deploy.sh",
    "python wait_times.ipynb",
    'python -c \'import time; time.sleep(1); open("f","w")\'',
    "sleep 30 'open",
    # what only looks, and waits for nothing
    "read answer",
    "tail server.log",
    "tail -n 5 --retry server.log",
    "cat -f server.log",
    "gh issue list",
    "gh issue view 17 --comments",
    "gh pr view 12 checks",
    "gh run view 17 --log",
    "docker run ps",
    "glab issue view 3",
    "kubectl run checks",
    "docker ps",
    "kubectl get pods -f pod.yaml",
    "docker build -f logs .",
    "echo -w",
    "python wait.ipynb",
    "wait.txt",
    "./waiting_list",
    "sh",
    "python -c 'time.sleep(5)' now",
    "python -i 'time.sleep(5)'",
    "echo -c 'sleep 5'",
    "node -e 'sleep(5)'",
    "python -c 'import time; run(); time.sleep(5)'",
    # what does something beside waiting
    "watch ls; make",
    "bash -c 'sleep 5; make'",
    "bash -c ls",
    "timeout 60 ./wait_for_tests.sh",
    "make; watch ls",
    "watch -n 5 'ls > files'",
    "kubectl delete pod x --wait",
    "kubectl apply -f x.yaml --wait",
    "docker compose up wait",
    "docker stop web --follow",
    "gh run view 17 delete",
    "kubectl rollout restart deploy/web -w",
    "helm install x chart --wait",
    "sleep 1; docker start web",
    "sleep 1; docker inspect web; docker rm web",
    "sleep 1; kubectl frobnicate x",
    "sleep 1; git push",
    "sleep 1; git stash list",
    "sleep 1; gh api -X POST repos/a/b",
    "sleep 1; gh api repos/a/b --method PATCH",
    "sleep 1; gh api repos/a/b --input x.json",
    "sleep 1; curl -XPOST localhost",
    "sleep 1; curl -X DELETE localhost",
    "sleep 1; curl --request PUT localhost",
    "sleep 1; curl --json '{}' localhost",
    "sleep 1; curl -F a=b localhost",
    "sleep 1; curl -T file localhost",
    "sleep 1; curl -sO localhost/x",
    "sleep 1; curl localhost -d",
    "sleep 1; curl -dx=1 localhost",
    "sleep 1; wget -O page localhost",
    "sleep 1; kill -9 12",
    "sleep 1; kill 12 -0",
    "sleep 1; kill",
    "sleep 1; find . -delete",
    "sleep 1; bash ready",
    "sleep 1; ready",
    "sleep 1; ./already.sh",
    "sleep 1; ./status_of.sh > report",
]


@pytest.mark.parametrize("command", WAITING)
def test_a_line_that_only_waits_or_polls(command: str) -> None:
    assert is_waiting(parse(command)) is True


@pytest.mark.parametrize("command", NOT_WAITING)
def test_a_line_that_does_something_or_waits_for_nothing(command: str) -> None:
    assert is_waiting(parse(command)) is False


@PROPERTY
@given(st.sampled_from(lines_of_text(True)), st.sampled_from(WAITING))
def test_a_test_run_is_never_waiting_whatever_waits_beside_it(run: str, wait: str) -> None:
    assert not is_waiting(parse(run))
    assert not is_waiting(parse(f"{run}\n{wait}"))


@PROPERTY
@given(
    st.sampled_from([(line, True) for line in WAITING] + [(line, False) for line in NOT_WAITING]),
    st.sampled_from(
        ["( {} )", "{{ {}\n}}", "if true; then {}\nfi", "for i in 1 2; do {}\ndone", "x=$({})",
         "{} # comment", "{}\ntrue", "cd src\n{}"]
    ),
)  # fmt: skip
def test_grouping_keeps_the_answer(case: tuple[str, bool], group: str) -> None:
    command, expected = case
    if command and "'open" not in command:
        assert is_waiting(parse(group.format(command))) is expected


@PROPERTY
@given(st.text())
def test_no_text_raises(text: str) -> None:
    is_waiting(parse(text))
