"""Where people see what is wrong with a configuration, and what a change of it comes to.

Pure: plans in, words out. On a pull request that touches `.squadron/` these are a check's
(promise 8); nothing of it is in force before it is merged. What was merged all the same is told
by an issue.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from app.core.limits import Action, LimitName
from app.core.rules.plan import ConfigProblem, RepositoryPlan, RolePlan
from app.core.text.markdown import MOST_TEXT, cut, in_one_line
from app.core.words.tables import in_unit

CHECK_NAME: Final = "squadron/config"
DIRECTORY: Final = ".squadron/"
TROUBLE_LABEL: Final = "squadron-config"
"""Of the issue that tells of a broken configuration; it starts nothing, and we find it by it."""
TROUBLE_MARK: Final = "<!-- squadron:config-trouble -->"
MOST_PROBLEMS_TOLD: Final = 50
"""GitHub takes so many annotations in one request (create a check run, `output.annotations`)."""


@dataclass(frozen=True, slots=True)
class ConfigReview:
    """What the check `squadron/config` says."""

    is_valid: bool
    title: str
    summary: str
    problems: tuple[ConfigProblem, ...]
    """Those that are shown on their lines."""


def touches_configuration(paths: Sequence[str]) -> bool:
    """Whether a change of these files may change what Squadron does."""
    return any(path.startswith(DIRECTORY) for path in paths)


def reviewed(
    before: RepositoryPlan | None,
    after: RepositoryPlan | None,
    problems: Sequence[ConfigProblem],
    *,
    shown: Sequence[ConfigProblem] | None = None,
    clashes: Sequence[str] = (),
) -> ConfigReview:
    """Judge a change; `problems` are those of what the merge would bring.

    `before` is what is in force, None if that is broken; `after` None: the change is. `shown`: the
    problems as they stand in the branch, None: they all do. `clashes`: files that do not merge.
    """
    changed = [] if after is None else list(_changes(before, after))
    parts = [_verdict(problems)]
    if clashes:
        parts.append(_clashing(clashes))
    if problems:
        parts.append(_listed(problems))
    if after is not None:
        parts += [_changes_table(changed), *_role_tables(before, after)]
    return ConfigReview(
        is_valid=not problems,
        title=_title(problems, changed),
        summary=cut("\n\n".join(parts), MOST_TEXT),
        problems=tuple((problems if shown is None else shown)[:MOST_PROBLEMS_TOLD]),
    )


def as_in_branch(
    problems: Sequence[ConfigProblem],
    in_branch: Sequence[ConfigProblem],
    differing: Collection[str],
) -> tuple[ConfigProblem, ...]:
    """The problems of a merge with the lines that they have in the branch, where these are other
    ones: in files of which the merge makes something else than the branch has (`differing`)."""
    known = {(each.file, each.message) for each in problems}
    here = [each for each in problems if each.file not in differing]
    moved = [
        each for each in in_branch if each.file in differing and (each.file, each.message) in known
    ]
    return (*here, *moved)


def trouble_title(problems: Sequence[ConfigProblem]) -> str:
    """Of the issue that tells of mistakes on the default branch."""
    return f"Squadron: {_counted(len(problems), 'mistake')} in the configuration"


def trouble_body(
    problems: Sequence[ConfigProblem], *, is_sound_before: bool, is_switched_off: bool = False
) -> str:
    """What is wrong on the default branch, and what is in force meanwhile.

    `is_sound_before`: whether there is a configuration that agents can start with.
    `is_switched_off`: whether the present one says `enabled: false`, which needs no sound one.
    """
    if is_switched_off:
        meanwhile = (
            "`enabled: false` is in force all the same: no agent starts or works here until that"
            " line is taken out."
        )
    elif is_sound_before:
        meanwhile = (
            "What is not concerned works on; for what is, a role or all of it, the last sound one"
            " stays in force."
        )
    else:
        meanwhile = "No agent starts here until this is corrected."
    parts = (
        TROUBLE_MARK,
        "The configuration on the default branch has mistakes:",
        _listed(problems),
        meanwhile,
        "Correct them on the default branch; this issue then closes itself."
        " `squadron config check` shows the same.",
    )
    return cut("\n\n".join(parts), MOST_TEXT)


def _listed(problems: Sequence[ConfigProblem]) -> str:
    lines = "\n".join(f"- `{_code(each)}`" for each in problems[:MOST_PROBLEMS_TOLD])
    more = len(problems) - MOST_PROBLEMS_TOLD
    return lines + (f"\n- … and {more} more" if more > 0 else "")


@dataclass(frozen=True, slots=True)
class _Change:
    role: str
    limit: LimitName
    before: str
    after: str


def _title(problems: Sequence[ConfigProblem], changed: Sequence[_Change]) -> str:
    if problems:
        return f"{_counted(len(problems), 'mistake')} in the configuration"
    return f"Valid: {_counted(len(changed), 'limit')} would change" if changed else "Valid"


def _verdict(problems: Sequence[ConfigProblem]) -> str:
    if problems:
        return (
            "These mistakes would keep agents from starting. `squadron config check` shows the"
            " same."
        )
    return (
        "The configuration is valid. It takes effect when it is merged; running agents keep the"
        " limits that they started with."
    )


def _clashing(files: Sequence[str]) -> str:
    names = ", ".join(f"`{DIRECTORY}{in_one_line(name).replace('`', chr(39))}`" for name in files)
    return (
        f"The default branch has changed {names} meanwhile in a way that does not fit together with"
        " this branch: what follows is with that as this branch has it."
    )


def _changes(before: RepositoryPlan | None, after: RepositoryPlan) -> Iterator[_Change]:
    # A broken role's limits do not change: it stays as it was last in force.
    for name in sorted({*after.roles, *(before.roles if before else ())} - after.broken.keys()):
        old, new = _role(before, name), _role(after, name)
        for limit in LimitName:
            was, comes = _shown(old, limit), _shown(new, limit)
            if was != comes:
                yield _Change(name, limit, was, comes)


def _role(plan: RepositoryPlan | None, name: str) -> RolePlan | None:
    return None if plan is None else plan.roles.get(name)


def _changes_table(changed: Sequence[_Change]) -> str:
    if not changed:
        return "No role's effective limits change."
    rows = "\n".join(
        f"| `{each.role}` | `{each.limit}` | {each.before} | **{each.after}** |" for each in changed
    )
    return f"| role | limit | before | after |\n| --- | --- | ---: | ---: |\n{rows}"


def _role_tables(before: RepositoryPlan | None, after: RepositoryPlan) -> Iterator[str]:
    for name, role in after.roles.items():
        rows = "\n".join(
            f"| `{limit}` | {_shown(_role(before, name), limit)} | {_shown(role, limit)} |"
            f" {role.origins[limit].layer} |"
            for limit in LimitName
        )
        table = f"| limit | before | after | from |\n| --- | ---: | ---: | --- |\n{rows}"
        yield f"<details><summary><code>{name}</code></summary>\n\n{table}\n\n</details>"


def _shown(role: RolePlan | None, limit: LimitName) -> str:
    """A limit as a person reads it: its amount, and what happens there if that is special."""
    if role is None:
        return "–"
    limits = role.limits
    value = getattr(limits, limit)
    parts = ["off" if value is None else f"{in_unit(limit, value)} {limits.info(limit).unit}"]
    is_heard = not limits.is_at_ceiling(limit)
    if is_heard and limits.action(limit) is not Action.ESCALATE:
        parts.append(f"({limits.action(limit)})")
    if is_heard and limit in limits.shadow:
        parts.append("(shadow)")
    return " ".join(parts)


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _code(problem: ConfigProblem) -> str:
    return in_one_line(cut(str(problem), 400)).replace("`", "'")
