"""Read a list of the service and print it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Annotated, TypeAlias, TypeVar

from cyclopts import Parameter
from cyclopts.validators import Number

import cmsapi
from cmsapi.cli.support.connecting import connect
from cmsapi.cli.terminal.output import Columns, Output, print_list, print_message

T = TypeVar("T", bound=cmsapi.Model)

Limit: TypeAlias = Annotated[int, Parameter(validator=Number(gte=1))]


async def print_all(
    read: Callable[[cmsapi.Client], cmsapi.Paginator[T, cmsapi.Page[T]]],
    columns: Columns[T],
    output: Output,
    limit: int = sys.maxsize,
) -> None:
    """Read a list and print it; say how many there are if the limit leaves some out.

    Args:
        read: Makes the request.
        columns: The columns of a table.
        output: The form of the list.
        limit: The largest number of items to print.
    """
    found: list[T] = []
    total = None
    async with connect() as client:
        async for page in read(client).pages():
            found += page
            total = page.total
            if len(found) >= limit:
                break
    print_list(found[:limit], columns, output, cmsapi.to_dict)
    if total is not None and total > limit:
        print_message(f"{limit} of {total:,}; --limit {total} shows all.")
