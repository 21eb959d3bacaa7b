"""The JSON Schema of what each command prints with `--json`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, TypeAlias

import cmsapi
from cmsapi.api.wire.schema import Definitions, Schema, array, nullable, record

_Make: TypeAlias = Callable[[Definitions], Schema]

_TEXT: Schema = {"type": "string"}
_COUNTS: Schema = {"type": "object", "additionalProperties": {"type": "integer"}}
_TOKEN: Schema = {**nullable(_TEXT), "description": "Names the job for `cmsapi jobs watch`; null without a job."}


def _one(model: type[Any]) -> _Make:
    return lambda defined: defined.of(model)


def _many(model: type[Any]) -> _Make:
    return lambda defined: array(defined.of(model))


def _outcomes(result: _Make) -> _Make:
    """Return the schema of the outcomes of jobs."""

    def make(defined: Definitions) -> Schema:
        error = record("Why there is no result.", type=_TEXT, message=_TEXT)
        outcome = record(
            "How an item ended.",
            item={**_TEXT, "description": "The item, or the target of the job."},
            result={"anyOf": [result(defined), {"type": "null"}]},
            error=nullable(error),
            token=_TOKEN,
        )
        return array(outcome)

    return make


def _decided(defined: Definitions) -> Schema:
    decision = {**nullable(_TEXT), "description": "confirm, cancel, leave, elsewhere; null before there is one."}
    return record("A generated article.", generation=defined.of(cmsapi.Generation), decision=decision)


def _result(defined: Definitions) -> Schema:
    """Return the schema of the result of a job of any kind."""
    ideas = record(
        "Result of an idea search.",
        search=defined.of(cmsapi.ContentIdeaSearch),
        ideas=array(defined.of(cmsapi.ContentIdea)),
    )
    article = record("Result of a generation.", contentId=_TEXT, generation=defined.of(cmsapi.Generation))
    models = (cmsapi.Keyword, cmsapi.Prompt, cmsapi.KnowledgeDocument)
    return {"anyOf": [*map(defined.of, models), ideas, article]}


def _ideas(defined: Definitions) -> Schema:
    seed = record("An idea with its seed keyword.", seed=_TEXT)
    return array({"allOf": [seed, defined.of(cmsapi.ContentIdea)]})


def _credits(defined: Definitions) -> Schema:
    return record(
        "Balances, and what was spent.",
        balances=defined.of(cmsapi.Credits),
        since=defined.of(datetime),
        total={"type": "integer", "description": "Credits spent since then."},
        byType=_COUNTS,
        byDay={**_COUNTS, "description": "By day of UTC, such as 2026-01-31."},
        byWorkspace=_COUNTS,
    )


def _entries(defined: Definitions) -> Schema:
    return array(
        record(
            "A launch whose job has not finished.",
            kind=defined.of(cmsapi.JobKind),
            target=_TEXT,
            state={"enum": ["intent", "sending", "running", "review"]},
            launchedAt=defined.of(datetime),
            jobId=nullable(_TEXT),
            batch=nullable(_TEXT),
            item=nullable(_TEXT),
            token=_TOKEN,
        )
    )


def _batches(defined: Definitions) -> Schema:
    count: Schema = {"type": "integer"}
    return array(
        record(
            "A batch of any process of the state.",
            name=_TEXT,
            state={"enum": ["running", "stopped", "done"]},
            total=nullable(count),
            finished=count,
            running=count,
            waiting=count,
            failed={**count, "description": "Finished items without a result."},
            unknown={**count, "description": "Failed items that may have been launched and charged."},
            credits={**count, "description": "Credits of all runs."},
            requests={**count, "description": "Requests of all runs."},
            secondsLeft={**nullable({"type": "number"}), "description": "Null if not known."},
            processes={**count, "description": "Runs that work on it now."},
            beganAt=nullable(defined.of(datetime)),
            workedAt=nullable(defined.of(datetime)),
            doneAt=nullable(defined.of(datetime)),
        )
    )


def _reviews(defined: Definitions) -> Schema:
    article = _decided(defined)
    return array(record("An article in review.", contentId=_TEXT, **article["properties"]))


def _plan(defined: Definitions) -> Schema:
    extra = record(
        "What a run would take; nothing was launched.",
        affordable={**nullable({"type": "boolean"}), "description": "Whether the balance pays; null if not known."},
        basis={**_TEXT, "description": "What the durations rest on."},
        skipped={"type": "integer", "description": "Items that options have left out."},
    )
    return {"allOf": [extra, defined.of(cmsapi.Forecast)]}


def _doctor(defined: Definitions) -> Schema:
    verdict = defined.of(cmsapi.Verdict)
    number, count = nullable({"type": "number"}), nullable({"type": "integer"})
    check = record("A finding.", name=_TEXT, verdict=verdict, found=_TEXT, advice=_TEXT)
    route = record(
        "A route of the SDK, compared with the service's description.",
        name=_TEXT,
        route=_TEXT,
        provenance=_TEXT,
        listed={"type": "boolean"},
        candidates=array(_TEXT),
        adopt=nullable(_TEXT),
    )
    drift = record(
        "A difference from the specification.",
        kind=_TEXT,
        where=_TEXT,
        count={"type": "integer"},
        example=nullable(_TEXT),
    )
    return record(
        "A diagnosis, with the same keys whatever was found.",
        status={"enum": ["ok", "warning", "problem"]},
        ok={"type": "boolean"},
        verdicts={"type": "object", "additionalProperties": verdict},
        checks=array(check),
        balances=nullable(defined.of(cmsapi.Credits)),
        latency={**number, "description": "Seconds."},
        clockOffset={**number, "description": "Seconds by which the service's clock is ahead."},
        requestLimit={**count, "description": "Requests per hour."},
        requestsLeft=count,
        pausedFor={**number, "description": "Seconds."},
        othersUse={**count, "description": "Requests of others with the same key."},
        routes=array(route),
        drift=array(drift),
    )


#: The schemas by command; an option follows the command that it changes.
SCHEMAS: Mapping[str, _Make] = {
    "me": _one(cmsapi.User),
    "credits": _credits,
    "users": _many(cmsapi.Member),
    "workspaces": _many(cmsapi.Workspace),
    "folders": _many(cmsapi.Folder),
    "pages list": _many(cmsapi.WebPage),
    "pages show": _one(cmsapi.WebPage),
    "pages import": _many(cmsapi.WebPage),
    "contents list": _many(cmsapi.ContentSummary),
    "contents show": _one(cmsapi.Content),
    "contents create": _one(cmsapi.Content),
    "contents edit": _one(cmsapi.Content),
    "keywords": _many(cmsapi.Keyword),
    "keywords add": _many(cmsapi.Keyword),
    "prompts": _many(cmsapi.Prompt),
    "prompts add": _many(cmsapi.Prompt),
    "brand-voices": _many(cmsapi.BrandVoice),
    "knowledge-documents": _many(cmsapi.KnowledgeDocument),
    "analyze": _outcomes(_one(cmsapi.Keyword)),
    "analyze --dry-run": _plan,
    "ideas": _ideas,
    "ideas --dry-run": _plan,
    "generate": _outcomes(_decided),
    "generate --dry-run": _plan,
    "jobs list": _entries,
    "jobs batches": _batches,
    "jobs watch": _outcomes(_result),
    "jobs resume": _outcomes(_result),
    "jobs reviews": _reviews,
    "doctor": _doctor,
}


def schema_of(command: str) -> Schema:
    """Return the schema of what a command prints with `--json`.

    Raises:
        KeyError: The command has no such option.
    """
    defined = Definitions()
    return defined.document(f"cmsapi {command} --json", SCHEMAS[command](defined))
