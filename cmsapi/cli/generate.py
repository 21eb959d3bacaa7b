"""`cmsapi generate`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import attrs
from cyclopts import Parameter

import cmsapi
from cmsapi.cli.fanning import tell_plan, wait_for
from cmsapi.cli.reviewing import Flag, decide, ensure_somebody, review_by_hand

_WORDS = {"true": True, "false": False}
_NAMES = [field.name for field in attrs.fields(cmsapi.GenerationSettings) if field.name[0] != "_"][1:]


async def generate(
    content_id: str,
    *,
    settings: Annotated[list[str] | None, Parameter(name=["--settings", "-s"], negative="")] = None,
    confirm: Flag = False,
    cancel: Flag = False,
    review: Flag = False,
) -> int:
    """Have the article of a content generated: AI-writing credits. The keyword of its page must be analysed.

    The article then waits for a decision. Without one of the options for it, it is left in review.

    Args:
        content_id: A draft.
        settings: NAME=VALUE, such as fact_checking_enabled=true, may be repeated; or @FILE with a JSON object.
        confirm: Apply the article to the draft.
        cancel: Discard the article.
        review: Decide in the terminal, with the old text and the new one.
    """
    if review:
        ensure_somebody()
    wanted = cmsapi.GenerationSettings(**read_settings(settings or []))
    async with cmsapi.Client() as client:
        before = await client.contents.get(content_id)
        if (last := before.last_generation) is not None and last.status == cmsapi.GenerationStatus.REVIEW:
            raise cmsapi.ArgumentError(
                f"An article waits for a decision already: cmsapi contents review {content_id}. Nothing was launched.",
                parameter="content_id",
            )
        tell_plan(client.jobs.plan("generation", 1))
        harvest = await wait_for(client, [await client.contents.generate(content_id, wanted)])
        harvest.tell("")
        for outcome in harvest.outcomes:
            if outcome.value is not None:
                if review:
                    return await review_by_hand(client, outcome.value, before)
                return await decide(outcome.value, confirm=confirm, cancel=cancel)
    return harvest.code


def read_settings(arguments: list[str]) -> dict[str, Any]:
    """Read `NAME=VALUE` and `@FILE` arguments.

    Raises:
        ArgumentError: One cannot be read, or names no setting: a mistake here would cost a credit.
    """
    values: dict[str, Any] = {}
    for argument in arguments:
        if argument.startswith("@"):
            values |= _file(argument[1:])
            continue
        name, separator, value = argument.partition("=")
        if not separator:
            raise cmsapi.ArgumentError(f"--settings takes NAME=VALUE or @FILE, not {argument!r}.", parameter="settings")
        values[name.strip().replace("-", "_")] = _WORDS.get(value.strip().lower(), value)
    for name, value in values.items():
        if name not in _NAMES:
            raise cmsapi.ArgumentError(
                f"There is no setting {name!r}. Settings are {', '.join(_NAMES)}. Nothing was sent.",
                parameter="settings",
            )
        if name.endswith("_enabled") and not isinstance(value, bool):
            raise cmsapi.ArgumentError(f"{name} is true or false, not {value!r}. Nothing was sent.", parameter=name)
    return values


def _file(path: str) -> dict[str, Any]:
    try:
        document = json.loads(Path(path).read_text())
    except (OSError, ValueError) as error:
        raise cmsapi.ArgumentError(
            f"@{path} cannot be read: {error}. Nothing was sent.", parameter="settings"
        ) from error
    if not isinstance(document, dict):
        raise cmsapi.ArgumentError(f"@{path} is a JSON object. Nothing was sent.", parameter="settings")
    return document
