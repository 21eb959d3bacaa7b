"""Declare the options of the commands that launch jobs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, Any, Literal, TypeAlias

import attrs
from cyclopts import Parameter, Token

from cmsapi.cli.support.arguments import AllowEmpty
from cmsapi.cli.support.completing import offer_batches
from cmsapi.cli.support.connecting import State
from cmsapi.cli.support.times import read_seconds
from cmsapi.errors import ArgumentError


def read_credits(_: Any, tokens: Sequence[Token]) -> int:
    """Read a number of credits.

    Raises:
        ArgumentError: It is not a whole number of at least 0.
    """
    word = tokens[0].value
    # cyclopts would round 1.6 to 2, and 2 credits would be spent.
    if not re.fullmatch(r"[0-9]+", word):
        raise ArgumentError(f"must be a whole number of at least 0, got {word}.", parameter="max_credits")
    return int(word)


def _read_timeout(_: Any, tokens: Sequence[Token]) -> float:
    return read_seconds("--timeout", tokens[0].value)


Timeout: TypeAlias = Annotated[
    float | None,
    Parameter(
        name="--timeout",
        converter=_read_timeout,
        show_default=False,
        help="Wait for each job until this time after its launch, in seconds or such as 2h; a day by default.",
    ),
]


@Parameter(name="*")
@attrs.frozen
class RunOptions:
    """Hold the options that all commands which launch jobs have; their texts are the help of the command."""

    batch: Annotated[
        str | None,
        Parameter(
            show_default=False,
            completer=offer_batches,
            help="Name the run: another run with this name launches only the items that are missing.",
        ),
    ] = None
    retry: Annotated[
        tuple[Literal["failed", "unknown"], ...],
        Parameter(
            negative="",
            show_default=False,
            help="With --batch, launch these again: failed items (a credit each), or unknown ones (may be charged "
            "twice).",
        ),
    ] = ()
    max_credits: Annotated[
        int | None, Parameter(converter=read_credits, help="Spend at most this many credits in this run.")
    ] = None
    job_timeout: Timeout = None
    dry_run: Annotated[bool, Parameter(negative="", show_default=False, help="Print the cost, and launch nothing.")] = (
        False
    )
    allow_empty: AllowEmpty = False
    state: State = None


NO_OPTIONS = RunOptions()
