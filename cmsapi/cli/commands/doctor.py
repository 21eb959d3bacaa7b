"""`cmsapi doctor`."""

from __future__ import annotations

import textwrap
from typing import Any

from rich.console import Console

import cmsapi
from cmsapi.cli.support.advice import for_shell
from cmsapi.cli.support.connecting import connect
from cmsapi.cli.support.exit_codes import Exit
from cmsapi.cli.support.output import AsJson, print_json, printable

_MARKS = {
    cmsapi.Verdict.OK: "ok",
    cmsapi.Verdict.WARNING: "warn",
    cmsapi.Verdict.PROBLEM: "FAIL",
    cmsapi.Verdict.UNKNOWN: "?",
}


async def doctor(*, as_json: AsJson = False) -> int:
    """Check the connection to the service; at most four requests, no credit.

    The checks cover key, permissions, balances, routes, clock, latency, limits and differences from the specification.
    The exit code is 1 if there is a problem.
    """
    async with connect() as client:
        diagnosis = await client.doctor()
    if as_json:
        print_json(_document(diagnosis))
    else:
        _print_diagnosis(diagnosis)
    return Exit.DONE if diagnosis.ok else Exit.FAILED


def _print_diagnosis(diagnosis: cmsapi.Diagnosis) -> None:
    width = max(40, min(100, Console().width))
    for check in diagnosis.checks:
        head = f"{_MARKS[check.verdict]:<6}{check.name:<13}"
        print(
            textwrap.fill(
                printable(for_shell(check.found)), width, initial_indent=head, subsequent_indent=" " * len(head)
            )
        )
        if check.advice:
            indent = " " * len(head)
            print(
                textwrap.fill(
                    printable(for_shell(check.advice)), width, initial_indent=indent, subsequent_indent=indent
                )
            )
    unlisted = [route for route in diagnosis.routes if not route.listed]
    if unlisted:
        print("\nroutes missing from the service's description")
    for route in unlisted:
        print(f"  {route.name}  {route.route}  ({route.provenance.name.lower()})")
        for candidate in route.candidates:
            print(f"      perhaps {printable(candidate.route)}  ({candidate.similarity:.0%} similar)")
    if diagnosis.drift:
        print("\ndifferences from the specification")
    for each in diagnosis.drift:
        example = f": {printable(each.example)}" if each.example else ""
        print(f"  {each.count:>5} x {printable(each.where)}: {each.kind.value}{example}")


def _document(diagnosis: cmsapi.Diagnosis) -> dict[str, Any]:
    return {
        "ok": diagnosis.ok,
        "checks": [
            {"name": check.name, "verdict": check.verdict.value, "found": check.found, "advice": check.advice}
            for check in diagnosis.checks
        ],
        "latency": diagnosis.latency,
        "clockOffset": diagnosis.clock_offset,
        "othersUse": diagnosis.rate_limit.foreign,
        "routes": [
            {
                "name": route.name,
                "route": route.route,
                "provenance": route.provenance.name.lower(),
                "listed": route.listed,
                "candidates": [candidate.route for candidate in route.candidates],
                "adopt": route.adopted,
            }
            for route in diagnosis.routes
        ],
        "drift": [
            {"kind": each.kind.value, "where": each.where, "count": each.count, "example": each.example}
            for each in diagnosis.drift
        ],
    }
