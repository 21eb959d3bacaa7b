"""`cmsapi generate`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated, Any, TypeAlias

import attrs
from cyclopts import Parameter, Token

import cmsapi
from cmsapi.cli.fanning import tell_plan, wait_for
from cmsapi.cli.reading import text_of
from cmsapi.cli.reviewing import Flag, decide, ensure_somebody, review_by_hand

_WORDS = {"true": True, "false": False}
_NAMES = [
    name
    for name in (field.name for field in attrs.fields(cmsapi.GenerationSettings))
    if name != "extra" and name[0] != "_"
]


def _with_files(_: Any, tokens: Sequence[Token]) -> list[str]:
    return [text_of(token.value[1:]) if token.value.startswith("@") else token.value for token in tokens]


def _settings(arguments: Sequence[str]) -> cmsapi.GenerationSettings:
    """Read `NAME=VALUE` and JSON objects; a mistake here would cost a credit."""
    values: dict[str, Any] = {}
    for argument in arguments:
        if argument.lstrip().startswith(("{", "[")):
            values |= _object(argument)
            continue
        name, separator, value = argument.partition("=")
        if not separator:
            raise _wrong(f"--settings takes NAME=VALUE or @FILE, not {argument!r}")
        values[name.strip().replace("-", "_")] = _WORDS.get(value.strip().lower(), value)
    for name, value in values.items():
        if name not in _NAMES:
            raise _wrong(f"There is no setting {name!r}. Settings are {', '.join(_NAMES)}")
        if isinstance(value, bool) != name.endswith("_enabled"):
            raise _wrong(f"{name} is {'true or false' if name.endswith('_enabled') else 'a text'}, not {value!r}")
    return cmsapi.GenerationSettings(**values)


def _object(text: str) -> dict[str, Any]:
    try:
        document = json.loads(text)
    except ValueError as error:
        raise _wrong(f"The settings are not JSON: {error}") from error
    if not isinstance(document, dict):
        raise _wrong("The settings are not a JSON object")
    return document


def _wrong(what: str) -> cmsapi.ArgumentError:
    return cmsapi.ArgumentError(f"{what}. Nothing was sent.", parameter="settings")


Settings: TypeAlias = Annotated[
    list[str] | None,
    Parameter(name=["--settings", "-s"], negative="", converter=_with_files, consume_multiple=False),
]


async def generate(
    content_id: str,
    *,
    settings: Settings = None,
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
    wanted = _settings(settings or [])
    if review:
        ensure_somebody()
    async with cmsapi.Client() as client:
        before = await client.contents.get(content_id)
        if (last := before.last_generation) is not None and last.status == cmsapi.GenerationStatus.REVIEW:
            raise cmsapi.ArgumentError(
                f"An article waits for a decision already: cmsapi contents review {content_id}. Nothing was launched.",
                parameter="content_id",
            )
        tell_plan(client.jobs.plan("generation", 1))
        harvest = await wait_for(client, [await client.contents.generate(content_id, wanted)])
        await harvest.tell("")
        for outcome in harvest.outcomes:
            if outcome.value is not None:
                if review:
                    return await review_by_hand(client, outcome.value, before)
                return await decide(outcome.value, confirm=confirm, cancel=cancel)
    return harvest.code
