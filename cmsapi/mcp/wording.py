"""Reword errors of the SDK for an assistant: tools in place of methods, and always what an error means for money."""

from __future__ import annotations

import re
from typing import Literal

import cmsapi
from cmsapi.api.wire.mismatch import excerpt
from cmsapi.extras import needs

with needs("mcp"):
    from pydantic import ValidationError

#: What a tool may do to the account.
Effect = Literal["reads", "launches", "decides"]

_REPLACEMENTS = [
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"`?client\.jobs\.attach\([^)]*\)`?", "wait_for_jobs"),
        (r"`?client\.jobs\.watch\([^)]*\)`?", "get_content"),
        (r"`?client\.contents\.(?:review|generation)\b(?:\([^)]*\))?`?", "get_content"),
        (r"`?client\.contents\.get\b`?", "get_content"),
        (r"`?client\.keywords\.get\b`?", "get_keyword"),
        (r"`?client\.credit_usages(?:\.list\([^)]*\))?`?", "report_credits"),
        (r"`client\.me\(\)` shows the balances", "show_account shows the balances"),
        (r" If the service has another one, use Client\(.*?\)\)\.", " `cmsapi doctor` shows whether it is."),
        (r" Check the candidates, then use Client\(.*?\)\)\.", ""),
        (r", or launch with LaunchPolicy\(dedupe='allow'\)", ""),
        (r"LaunchPolicy\(max_credits=\)", "--max-credits"),
        (
            r"batch\.retry_failed\(\) lets the next map launch it again",
            "A launch with a higher `run` launches it again",
        ),
        (r"batch\.retry_unknown\(\) lets the next map launch it", "A launch with a higher `run` launches it again"),
        (r"`job\.token` gives one\. wait_for_jobs", "list_jobs gives one. wait_for_jobs"),
    )
]

# How pydantic begins what must be true of a value.
_MUST = "Input should be "
_ENDS_OF_SENTENCES = (".", "!", "?", ":")
# How jobs that were paid for end without a result.
_ENDS = (
    cmsapi.JobFailedError,
    cmsapi.JobSupersededError,
    cmsapi.JobVanishedError,
    cmsapi.UnknownJobStateError,
    cmsapi.JobDetachedError,
)


def reworded(text: str) -> str:
    """Return a message of the SDK with tools in place of methods."""
    for pattern, replacement in _REPLACEMENTS:
        text = pattern.sub(replacement, text)
    return text


def told(error: BaseException) -> str:
    """Return the message and the notes of an error for an assistant."""
    text = reworded("\n".join([str(error), *getattr(error, "__notes__", ())]))
    # What it means for money follows, as a sentence of its own.
    return f"{type(error).__name__}: {text}{'' if text.endswith(_ENDS_OF_SENTENCES) else '.'}"


def wrong_arguments(error: ValidationError) -> str:
    """Return the message for arguments that do not fit the schema of a tool."""
    wrong = []
    for each in error.errors(include_url=False):
        name = ".".join(map(str, each["loc"]))
        said, given = each["msg"], excerpt(each["input"])
        if each["type"] == "missing":
            wrong.append(f"`{name}` is missing.")
        elif (must := said.removeprefix(_MUST)) != said:
            wrong.append(f"`{name}` must be {must}, got {given}.")
        else:
            wrong.append(f"`{name}`: {said}, got {given}.")
    return f"{' '.join(wrong)} The schema of the tool says what it takes. Nothing was sent or charged."


def money(error: BaseException, effect: Effect) -> str:
    """Say what an error means for money, and what to do.

    Args:
        error: The error.
        effect: What the tool may do.
    """
    if effect == "reads":
        return "Reading costs no credit; a call that failed may be repeated."
    if effect == "decides":
        doubt = "It may have taken effect: read the content with get_content before you decide again. "
        return f"{doubt if getattr(error, 'in_doubt', False) else ''}A decision costs no credit."
    match error:
        case cmsapi.LaunchUnknownError() | cmsapi.OutcomeUnknownError():
            return (
                "A credit may have been spent. The launch is not repeated by itself; report_credits shows what was "
                "charged. Ask the person before you launch it again, which may be paid twice."
            )
        case cmsapi.CMSError() if error.in_doubt:
            return "A credit may have been spent; report_credits shows what was charged."
        case cmsapi.OutOfCreditsError():
            return "Nothing was charged for it. Only the person can raise the bound, with a new start of the server."
        case _ if isinstance(error, _ENDS):
            return "The credit of this job was spent when it was launched."
        case _:
            return "Nothing was charged for it."
