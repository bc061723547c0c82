"""Check runs and commit statuses: the part of the `GitHub` port that is about them."""

from collections.abc import Sequence

from app.adapters.github import reading
from app.adapters.github.call import Query
from app.adapters.github.part import Part
from app.core.effects.check_run import CheckRun
from app.core.github.checks import FAILED, FAILED_STATES, FailedCheck
from app.ports import Annotation, CheckText, Repository


class Checks(Part):
    """Our own check runs, and what of others' failed."""

    async def checks(self, repository: Repository, sha: str, name: str) -> Sequence[CheckRun]:
        # `filter=all`: the default shows only the newest of each name, which hides doubles.
        query: Query = {"check_name": name, "app_id": self._app_id, "filter": "all"}
        found = self._at(repository).list(
            "commits", sha, "check-runs", query=query, within="check_runs"
        )
        ours = [
            reading.check_run(each)
            async for each in found
            if reading.dig(each, "app", "id") == self._app_id
        ]
        return sorted(ours, key=lambda check: check.number)

    async def failed_checks(self, repository: Repository, sha: str) -> Sequence[FailedCheck]:
        query: Query = {"status": "completed"}
        found = self._at(repository).list(
            "commits", sha, "check-runs", query=query, within="check_runs"
        )
        checks = [
            reading.failed_check(each)
            async for each in found
            if reading.dig(each, "app", "id") != self._app_id
            and reading.text(each, "conclusion") in FAILED
        ]
        statuses = self._at(repository).list("commits", sha, "status", within="statuses")
        return checks + [
            reading.failed_status(each)
            async for each in statuses
            if reading.text(each, "state") in FAILED_STATES
        ]

    async def create_check(
        self, repository: Repository, sha: str, name: str, external_id: str, check: CheckText
    ) -> CheckRun:
        document = {
            "head_sha": sha,
            "name": name,
            "external_id": external_id,
            **_standing(check),
            **_text(check),
        }
        return reading.check_run(await self._at(repository).post("check-runs", body=document))

    async def change_check(self, repository: Repository, number: int, check: CheckText) -> CheckRun:
        document = {**_standing(check), **_text(check)}
        here = self._at(repository)
        return reading.check_run(await here.patch("check-runs", number, body=document))

    async def reword_check(self, repository: Repository, number: int, check: CheckText) -> CheckRun:
        here = self._at(repository)
        return reading.check_run(await here.patch("check-runs", number, body=_text(check)))


def _standing(check: CheckText) -> dict[str, object]:
    if check.conclusion is None:
        return {"status": "in_progress"}
    return {"status": "completed", "conclusion": check.conclusion}


def _text(check: CheckText) -> dict[str, object]:
    output: dict[str, object] = {"title": check.title, "summary": check.summary}
    if check.annotations:
        output["annotations"] = [_annotation_document(each) for each in check.annotations]
    return {
        "output": output,
        "actions": [
            {
                "identifier": button.identifier,
                "label": button.label,
                "description": button.description,
            }
            for button in check.buttons
        ],
    }


def _annotation_document(annotation: Annotation) -> dict[str, object]:
    return {
        "path": annotation.path,
        "start_line": annotation.line,
        "end_line": annotation.line,
        "annotation_level": "failure",
        "message": annotation.message,
    }
