"""`cmsapi generate`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated, Any, TypeAlias

import attrs
from cyclopts import Parameter, Token

import cmsapi
from cmsapi.cli.fanouts.batch import open_batch
from cmsapi.cli.fanouts.fan_out import MAX_LISTED, NextCommand, fan_out
from cmsapi.cli.fanouts.options import NO_OPTIONS, RunOptions
from cmsapi.cli.fanouts.outcomes import outcome_document
from cmsapi.cli.fanouts.plan import print_plan
from cmsapi.cli.support.arguments import ContentIds, read_text
from cmsapi.cli.support.connecting import connect_with_journal
from cmsapi.cli.support.reviews import Decision, DecisionFlag, decide_all
from cmsapi.cli.terminal.asking import Yes, confirmed
from cmsapi.cli.terminal.exit_codes import Exit
from cmsapi.cli.terminal.output import TABLE, Columns, Output, print_list, print_message
from cmsapi.cli.terminal.quoting import quote_word
from cmsapi.jobs.fanout.forecast import counted
from cmsapi.jobs.kinds.registry import KINDS

_WORDS = {"true": True, "false": False}
_NAMES = [name for name in attrs.fields_dict(cmsapi.GenerationSettings) if name not in attrs.fields_dict(cmsapi.Model)]


def _with_files(_: Any, tokens: Sequence[Token]) -> list[str]:
    return [read_text(token.value[1:]) if token.value.startswith("@") else token.value for token in tokens]


def _settings(arguments: Sequence[str]) -> cmsapi.GenerationSettings:
    """Read `NAME=VALUE` and JSON objects strictly: a mistake would cost a credit."""
    values: dict[str, Any] = {}
    for argument in arguments:
        if argument.lstrip().startswith(("{", "[")):
            values |= _object(argument)
            continue
        name, separator, value = argument.partition("=")
        if not separator:
            raise _invalid(f"--settings must be NAME=VALUE or @FILE, got {argument!r}")
        values[name.strip().replace("-", "_")] = _WORDS.get(value.strip().lower(), value)
    for name, value in values.items():
        if name not in _NAMES:
            raise _invalid(f"There is no setting {name!r}. Settings are {', '.join(_NAMES)}")
        if isinstance(value, bool) != name.endswith("_enabled"):
            kind = "true or false" if name.endswith("_enabled") else "a text"
            raise _invalid(f"{name} must be {kind}, got {value!r}")
    return cmsapi.GenerationSettings(**values)


def _object(text: str) -> dict[str, Any]:
    try:
        document = json.loads(text)
    except ValueError as error:
        raise _invalid(f"The settings must be JSON: {error}") from error
    if not isinstance(document, dict):
        raise _invalid("The settings must be a JSON object")
    return document


def _invalid(what: str) -> cmsapi.ArgumentError:
    return cmsapi.ArgumentError(f"{what}. Nothing was sent.", parameter="settings")


Settings: TypeAlias = Annotated[
    list[str] | None,
    Parameter(name=["--settings", "-s"], negative="", converter=_with_files, consume_multiple=False),
]


async def generate(
    content_ids: ContentIds,
    /,
    *,
    settings: Settings = None,
    confirm: DecisionFlag = False,
    discard: DecisionFlag = False,
    review: DecisionFlag = False,
    yes: Yes = False,
    options: RunOptions = NO_OPTIONS,
    output: Output = TABLE,
) -> int:
    """Generate articles, one AI-writing credit each. The keyword of each content's page must be analysed.

    Each article then waits for a decision. Without a decision option it stays in review.

    Args:
        content_ids: Drafts; - reads identifiers, or CSV with a column id, from standard input, @FILE from a file.
        settings: NAME=VALUE, such as fact_checking_enabled=true, may be repeated; or @FILE with a JSON object.
        confirm: Apply the articles to the drafts.
        discard: Pay for the articles and discard them unread; asks first.
        review: Decide on each article in the terminal, comparing the old text with the new one.
    """
    content_ids.require_nonempty(options.allow_empty)
    wanted = _settings(settings or [])
    decision = Decision.of(confirm=confirm, discard=discard, review=review)
    before: dict[str, cmsapi.Content] = {}
    async with connect_with_journal(options.state) as client, open_batch(client, options) as batch_run:

        async def launch(content_id: str) -> cmsapi.Job[cmsapi.GenerationReview]:
            content = before[content_id] = await client.contents.get(content_id)
            last = content.last_generation
            waits = last is not None and KINDS["generation"].of_word(last.status).phase is cmsapi.Phase.REVIEW
            if waits and not (batch_run and content_id in batch_run.in_progress):
                raise cmsapi.ArgumentError(
                    f"An article already waits for a decision: cmsapi contents review {content_id}. "
                    "Nothing was launched.",
                    parameter="content_id",
                )
            return await client.contents.generate(content_id, wanted)

        planned = await print_plan(client, "generation", content_ids, options, batch_run, output)
        if options.dry_run:
            return planned
        question = f"Pay for {counted(len(content_ids), 'article')} and discard them unread?"
        if decision is Decision.DISCARD and not await confirmed(question, yes):
            return Exit.FAILED
        result = await fan_out(client, launch, content_ids, options, batch_run, planned)
        reviews = [outcome.value for outcome in result.outcomes if outcome.value is not None]
        # After Ctrl-C the command takes no more decisions.
        decided = await decide_all(client, reviews, before, Decision.LEAVE if result.interrupted else decision)
    if output:
        print_list(result.outcomes, _COLUMNS, output, lambda outcome: outcome_document(outcome, _result))
    typed = [word for text in settings or [] for word in ("--settings", text)]
    decided_by = [f"--{decision.value}"] if decision is not Decision.LEAVE else []
    decided_by += ["--yes"] if decision is Decision.DISCARD else []
    await result.report(NextCommand(["generate"], options, [*typed, *decided_by]))
    if result.running and decision is not Decision.LEAVE:
        _print_decisions([*result.running], decided_by, options.state)
    return result.code or decided


def _print_decisions(content_ids: Sequence[str], options: Sequence[str], state: str | None) -> None:
    """Print how to decide on the articles that were being written at Ctrl-C."""
    print_message("To decide on the articles when they are written:")
    run = RunOptions(state=state)
    if len(content_ids) > MAX_LISTED:
        print_message(f"  {NextCommand(['jobs', 'reviews'], run, options)('')}")
        return
    kept = [option for option in options if option in ("--confirm", "--discard")]
    for content_id in content_ids:
        print_message(f"  {NextCommand(['contents', 'review'], run, kept)(quote_word(content_id))}")


_COLUMNS: Columns[cmsapi.Outcome[str, cmsapi.GenerationReview]] = {
    "id": lambda outcome: outcome.item,
    "title": lambda outcome: outcome.job.name if outcome.job else None,
    "generation": lambda outcome: outcome.value.generation.id if outcome.value else None,
    "state": lambda outcome: outcome.value.generation.status if outcome.value else type(outcome.error).__name__,
    "decision": lambda outcome: outcome.value.decision if outcome.value else None,
}


def _result(outcome: cmsapi.Outcome[str, cmsapi.GenerationReview]) -> dict[str, Any] | None:
    review = outcome.value
    return {"generation": cmsapi.to_dict(review.generation), "decision": review.decision} if review else None
