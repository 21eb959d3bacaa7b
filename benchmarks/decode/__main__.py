"""Run the benchmark: `python -m benchmarks.decode [--json] [--rounds N] [--update PAGE]`; it needs orjson."""

from __future__ import annotations

import gc
import importlib
import json
import time
from typing import Any

import attrs

from benchmarks.bars import Bar, bar_line, bar_table
from benchmarks.command import run
from benchmarks.decode.documents import CONTENT, USAGES, compact, spaced
from benchmarks.decode.peers import PYDANTIC, Read, missing, peers, written_by_generated
from benchmarks.generated import generated
from benchmarks.rounds import ENVIRONMENT, Row, rows
from benchmarks.tables import Report, table
from cmsapi.api.models.content import Content
from cmsapi.api.models.credit_usage import CreditUsage
from cmsapi.api.wire.converter import Converter, to_dict
from cmsapi.api.wire.jsontext import dumps, loads, loads_strictly

orjson: Any = importlib.import_module("orjson")

DOCUMENTS = {"content": CONTENT, "page": USAGES}
TITLES = {"content": "A content in full", "page": "A page of a hundred credit usages"}
QUICK, STRICT, SPACED = "cmsapi with orjson", "cmsapi without", "cmsapi with orjson, text with spaces"
UNCHECKED = "the same without the check of what orjson read"
# About so many seconds each measurement takes.
_SLICE = 0.01


def _ours() -> dict[str, dict[str, Read]]:
    converter = Converter()
    return {
        QUICK: {
            "content": lambda body: converter.structure(loads(body), Content),
            "page": lambda body: converter.structure_page(loads(body), CreditUsage),
        },
        UNCHECKED: {
            "content": lambda body: converter.structure(orjson.loads(body), Content),
            "page": lambda body: converter.structure_page(orjson.loads(body), CreditUsage),
        },
        STRICT: {
            "content": lambda body: converter.structure(loads_strictly(body), Content),
            "page": lambda body: converter.structure_page(loads_strictly(body), CreditUsage),
        },
    }


def _seconds(read: Read, body: bytes, times: int) -> float:
    """Return the seconds of CPU that one reading takes."""
    began = time.process_time()
    for _ in range(times):
        read(body)
    return (time.process_time() - began) / times


def _measured(readers: dict[str, tuple[Read, bytes]], rounds: int) -> dict[str, list[float]]:
    costs: dict[str, list[float]] = {name: [] for name in readers}
    for reader in readers.values():
        # What is made on first use, and what the interpreter learns from the first calls.
        _seconds(*reader, 50)
    times = {name: max(1, int(_SLICE / _seconds(*reader, 50))) for name, reader in readers.items()}
    gc.collect()
    gc.disable()
    try:
        for _ in range(rounds):
            for name, reader in readers.items():
                costs[name].append(_seconds(*reader, times[name]))
    finally:
        gc.enable()
    return costs


def measure(rounds: int) -> dict[str, Any]:
    """Read both answers with everything there is, in turn, and write a content."""
    with generated():
        return _all(rounds)


def _all(rounds: int) -> dict[str, Any]:
    figures: dict[str, Any] = {"environment": ENVIRONMENT, "missing": missing(), "bytes": {}, "rows": {}}
    ours, others = _ours(), peers()
    for kind, document in DOCUMENTS.items():
        body = compact(document)
        readers: dict[str, tuple[Read, bytes]] = {
            "orjson.loads": (orjson.loads, body),
            "orjson.loads, again (A/A)": (orjson.loads, body),
            "json.loads": (json.loads, body),
            **{name: (reads[kind], body) for name, reads in {**ours, **others}.items()},
            SPACED: (ours[QUICK][kind], spaced(document)),
        }
        costs = _measured(readers, rounds)
        figures["bytes"][kind] = len(body)
        figures["rows"][kind] = {
            base: {name: attrs.asdict(row) for name, row in rows(costs, base).items()}
            for base in ("orjson.loads", "json.loads")
        }
    content = Converter().structure(CONTENT, Content)
    writers: dict[str, tuple[Read, bytes]] = {
        "orjson.dumps": (lambda _: orjson.dumps(CONTENT), b""),
        "cmsapi, a content written": (lambda _: dumps(to_dict(content)), b""),
        "cmsapi, its document only": (lambda _: to_dict(content), b""),
    }
    if (to_document := written_by_generated(CONTENT)) is not None:
        writers["openapi-python-client, its document only"] = (lambda _: to_document(), b"")
    costs = _measured(writers, rounds)
    figures["writing"] = {name: attrs.asdict(row) for name, row in rows(costs, "orjson.dumps").items()}
    return figures


def _bars(figures: dict[str, Any]) -> list[Bar]:
    bars = []
    for kind, strict in (("content", 1.55), ("page", 1.9)):
        of = figures["rows"][kind]
        quick = of["orjson.loads"]
        bars.append(Bar.at_most(f"{kind} with orjson, ratio to orjson.loads,", quick[QUICK]["ratio"], 3.2))
        if PYDANTIC in quick:
            # pydantic takes repeated keys, too.
            ratio = quick[UNCHECKED]["cost"] / quick[PYDANTIC]["cost"]
            bars.append(Bar.at_most(f"{kind} with orjson, unchecked, ratio to pydantic,", ratio, 1))
        bars.append(Bar.at_most(f"{kind} without, ratio to json.loads,", of["json.loads"][STRICT]["ratio"], strict))
    written = figures["writing"]["cmsapi, a content written"]["ratio"]
    return [*bars, Bar.at_most("a content written, ratio to orjson.dumps,", written, 5)]


def _reading(figures: dict[str, Any]) -> str:
    """Show what reading costs, with both documents in one table."""
    by_kind = [figures["rows"][kind]["orjson.loads"] for kind in DOCUMENTS]
    lines = [
        [name, *(cell for by_name in by_kind for cell in Row(**by_name[name]).cells(1e6)[2:3])] for name in by_kind[0]
    ]
    head = ["ratio to orjson.loads", *DOCUMENTS]
    return table(head, lines)


def report(figures: dict[str, Any]) -> Report:
    """Show what reading costs, and in the details each document and writing."""
    parts = [f"Measured on {figures['environment']}."]
    if figures["missing"]:
        parts.append(f"Not there, hence not measured: {'; '.join(figures['missing'])}.")
    for kind, by_base in figures["rows"].items():
        lines = [
            [*Row(**row).cells(1e6), f"{by_base['json.loads'][name]['ratio']:.2f}"]
            for name, row in by_base["orjson.loads"].items()
        ]
        head = ["", "µs", "ratio to orjson.loads", "half of the rounds", "ratio to json.loads"]
        parts += [f"{TITLES[kind]}, {figures['bytes'][kind]:,} bytes:", table(head, lines)]
    head = ["writing", "µs", "ratio to orjson.dumps", "half of the rounds"]
    parts.append(table(head, [Row(**row).cells(1e6) for row in figures["writing"].values()]))
    shown = [parts[0], _reading(figures), bar_line(_bars(figures))]
    return Report("\n\n".join(shown), "\n\n".join([*parts, bar_table(_bars(figures))]))


if __name__ == "__main__":
    run("decode", measure, report, rounds=40)
