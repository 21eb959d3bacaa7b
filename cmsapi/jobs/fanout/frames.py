"""Turn collected outcomes into a `pandas.DataFrame`."""

from __future__ import annotations

from collections.abc import AsyncIterable, Callable, Iterable
from typing import Any

from cmsapi.display.frames import DataFrame, frame, load_pandas, table
from cmsapi.errors import ArgumentError


def to_pandas(items: Iterable[Any]) -> DataFrame:
    """Return models, or outcomes of a fan-out or a batch, as a `pandas.DataFrame` with one row each.

    Models have one column a field, whose name is the field's. The fields of a model inside follow with the name of the
    field that holds it: `page_url`. Times are timestamps in UTC, words are strings, and what is missing is `NA` or
    `NaT`. Lists are cells with plain values. A column `extra` holds the unlisted keys, if there are any.

    Outcomes have the columns `item`, `ok`, `error` (the name of its class), `error_message` and `earlier`, and those of
    their values.

    Args:
        items: A list of either, or anything that has `to_pandas` itself, such as a page.

    Raises:
        ArgumentError: It is not a list, for example because it has to be awaited.
        ModuleNotFoundError: pandas is not installed; the extra `notebook` installs it.
    """
    if isinstance(items, AsyncIterable) or not isinstance(items, Iterable) or isinstance(items, str | bytes):
        hint = " Await its to_pandas()." if hasattr(items, "to_pandas") else ""
        raise ArgumentError(
            f"`items` must be a list of models or outcomes, got {type(items).__name__}.{hint}", parameter="items"
        )
    if (own := getattr(items, "to_pandas", None)) is not None:
        return own()
    rows = list(items)
    return _of_outcomes(rows) if rows and all(hasattr(row, "earlier") for row in rows) else frame(rows)


async def collected(outcomes: AsyncIterable[Any], give_back: Callable[[list[Any]], None]) -> DataFrame:
    """Wait for all outcomes, and return them as a frame.

    Args:
        outcomes: The outcomes.
        give_back: Has the next iteration give outcomes again: a cell that was interrupted, or is run again, needs them.
    """
    # Before a launch: it may be missing.
    load_pandas()
    rows = []
    try:
        async for outcome in outcomes:
            rows.append(outcome)  # noqa: PERF401  a comprehension would lose them
    finally:
        give_back(rows)
    return _of_outcomes(rows)


def _of_outcomes(outcomes: list[Any]) -> DataFrame:
    errors = [outcome.error for outcome in outcomes]
    return table(
        {
            "item": [outcome.item for outcome in outcomes],
            "ok": [error is None for error in errors],
            "error": [None if error is None else type(error).__name__ for error in errors],
            "error_message": [None if error is None else str(error) for error in errors],
            "earlier": [outcome.earlier for outcome in outcomes],
            "": [outcome.value for outcome in outcomes],
        },
        {"ok": bool, "earlier": bool},
    )
