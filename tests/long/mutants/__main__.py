"""Break the code in small ways and see whether tests notice: `python -m tests.long.mutants [--only ratelimit/limiter]`.

mutmut makes the mutants, in a copy of the repository, one module after the other, each with the tests that are about
it. A mutant that no test notices is printed; CONTRIBUTING.md says which may live.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import attrs

from benchmarks.tables import Report, table

HERE = Path(__file__).parents[3]
_WINDOWS = ("ratelimit/test_sliding_windows", "ratelimit/test_model")
_LIMITER = (*_WINDOWS, "ratelimit/test_limiter", "ratelimit/test_priorities")
_LAUNCHES = (
    "jobs/kinds/test_evidence",
    "jobs/launching/test_launcher",
    "jobs/launching/test_lost_searches",
    "jobs/launching/test_recovery",
)
#: What is mutated, and the files of tests that are about it.
ROOMS: Mapping[str, Sequence[str]] = {
    "transport/requests": ("jobs/test_identifiers", "test_client"),
    "transport/answers": (
        "transport/test_answer_rules",
        "transport/test_answers",
        "test_client",
        "resources/test_arguments",
    ),
    "ratelimit/sliding_windows": _WINDOWS,
    "ratelimit/permits": _LIMITER,
    "ratelimit/request_log": (*_LIMITER, "ratelimit/test_request_log"),
    "ratelimit/unanswered": (*_LIMITER, "ratelimit/test_request_log"),
    "ratelimit/foreign_usage": (*_LIMITER, "ratelimit/test_request_log"),
    "ratelimit/limiter": ("ratelimit/test_model", "ratelimit/test_limiter", "ratelimit/test_priorities"),
    "ratelimit/shared_log": ("ratelimit/test_shared_log", "ratelimit/test_shared_windows"),
    "jobs/planning/budget": ("jobs/planning/test_budget",),
    "jobs/planning/schedule": ("jobs/planning/test_schedule",),
    "jobs/planning/durations": ("jobs/planning/test_durations",),
    "jobs/kinds/evidence": _LAUNCHES,
    "jobs/kinds/keyword_analysis": _LAUNCHES,
    "jobs/kinds/idea_search": _LAUNCHES,
    "jobs/kinds/generation": _LAUNCHES,
    "jobs/launching/verdict": ("jobs/launching/test_books",),
    "jobs/launching/books": (
        *_LAUNCHES,
        "jobs/launching/test_books",
        "jobs/launching/test_odd_books",
        "jobs/launching/test_reconcile",
        "jobs/launching/test_proof",
    ),
    "jobs/journal/balances": (*_LAUNCHES, "jobs/journal/test_balances", "jobs/launching/test_proof"),
    "jobs/launching/reconcile": (
        *_LAUNCHES,
        "jobs/launching/test_reconcile",
        "jobs/launching/test_reconcile_under_faults",
        "jobs/launching/test_unknown",
        "jobs/launching/test_pending",
        "jobs/journal/test_failing_state",
    ),
    "jobs/launching/launcher": (*_LAUNCHES, "jobs/launching/test_deadline", "jobs/fanout/test_fan_out"),
    "jobs/launching/intent": (
        *_LAUNCHES,
        "jobs/launching/test_intent",
        "jobs/fanout/test_batch",
        "jobs/launching/test_unknown",
    ),
    "jobs/launching/pending": (*_LAUNCHES, "jobs/fanout/test_credits", "jobs/launching/test_deadline"),
    "jobs/launching/sending": (
        *_LAUNCHES,
        "jobs/launching/test_pending",
        "jobs/fanout/test_credits",
        "jobs/launching/test_deadline",
        "jobs/launching/test_unknown",
    ),
    "jobs/journal/journal": (*_LAUNCHES, "jobs/journal/test_journal"),
    "jobs/journal/heartbeat": (*_LAUNCHES, "jobs/journal/test_journal"),
    "jobs/tracked": _LAUNCHES,
    "jobs/journal/write_queue": (*_LAUNCHES, "jobs/journal/test_write_queue"),
}
# Mutants live beside the code in the mutated file, which makes its objects larger; and the machine that draws its own
# rules has to find the same ones when it runs again.
_LEFT_OUT = "not test_memory and not TestLimiter"
_KILLED, _TIMED_OUT, _SURVIVED = {1, 3}, {36, 24, -24, 152, 255}, {0, 5, 33}


@attrs.frozen
class Score:
    """Say what became of the mutants of a module.

    Args:
        module: Its path below `cmsapi`.
        made: Mutants.
        survivors: Names of those that no test noticed.
        unclear: Mutants that ended in no way that tells.
    """

    module: str
    made: int
    survivors: tuple[str, ...]
    unclear: int

    @property
    def share(self) -> float:
        """Part of the mutants that were noticed."""
        return 1 - (len(self.survivors) + self.unclear) / self.made


def main() -> None:
    """Mutate, print or write down."""
    parser = argparse.ArgumentParser(prog="tests.long.mutants", description=__doc__)
    parser.add_argument("--only", nargs="*", default=list(ROOMS), metavar="MODULE", help="such as ratelimit/limiter")
    parser.add_argument("--draw", type=int, metavar="COUNT", help="only so many of the modules, drawn by lot")
    parser.add_argument("--seed", type=int, default=0, help="decides the lot")
    parser.add_argument("--place", type=Path, default=HERE / ".mutants", help="where the copies are")
    parser.add_argument("--children", type=int, default=2, help="processes")
    parser.add_argument("--update", type=Path, metavar="PAGE", help="replace the section `mutants` of a Markdown page")
    options = parser.parse_args()
    modules = options.only
    if options.draw is not None:
        modules = random.Random(options.seed).sample(modules, options.draw)
        print("Drawn: " + " ".join(modules), flush=True)  # noqa: T201
    scores = []
    for module in modules:
        place = options.place / module.replace("/", "-")
        scores.append(mutate(module, place, options.children))
        for name in scores[-1].survivors:
            print(_run(place, "show", name))  # noqa: T201
        print(markdown(scores[-1:]), flush=True)  # noqa: T201
    if options.update is not None:
        Report(summary(scores), markdown(scores)).write(options.update, "mutants")


def mutate(module: str, place: Path, children: int) -> Score:
    """Run the tests of a module against each of its mutants, in a copy of the repository."""
    shutil.rmtree(place, ignore_errors=True)
    for name in ("cmsapi", "tests", "benchmarks"):
        shutil.copytree(HERE / name, place / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md"):
        shutil.copy(HERE / name, place / name)
    settings = {
        "source_paths": ["cmsapi/"],
        "only_mutate": [f"cmsapi/{module}.py"],
        "also_copy": ["benchmarks", "README.md"],
        "pytest_add_cli_args": ["-k", _LEFT_OUT],
        "pytest_add_cli_args_test_selection": [f"tests/unit/{name}.py" for name in ROOMS[module]],
        "timeout_multiplier": ["5.0"],
        "timeout_constant": ["5.0"],
    }
    lines = [f"{name} =\n    " + "\n    ".join(values) for name, values in settings.items() if len(values) > 1]
    lines += [f"{name} = {values[0]}" for name, values in settings.items() if len(values) == 1]
    (place / "setup.cfg").write_text("\n".join(["[mutmut]", *lines, ""]))
    said = _run(place, "run", "--max-children", str(children))
    results = place / "mutants" / "cmsapi" / f"{module}.py.meta"
    ends = json.loads(results.read_text())["exit_code_by_key"] if results.exists() else {}
    if not ends or None in ends.values():
        sys.exit(f"mutmut did not get through:\n{said[-4000:]}")
    survivors = tuple(name for name, end in ends.items() if end in _SURVIVED)
    unclear = sum(end not in _KILLED | _TIMED_OUT | _SURVIVED for end in ends.values())
    return Score(module, len(ends), survivors, unclear)


def summary(scores: Sequence[Score]) -> str:
    """Say how many mutants of all modules were noticed."""
    made, noticed = sum(each.made for each in scores), sum(round(each.made * each.share) for each in scores)
    return f"Tests noticed {noticed:,} of {made:,} mutants in {len(scores)} modules ({noticed / made * 100:.1f} %)."


def markdown(scores: Sequence[Score]) -> str:
    """Show the scores."""
    return table(
        ["module", "mutants", "noticed", "score"],
        [
            (each.module, f"{each.made}", f"{round(each.made * each.share)}", f"{each.share * 100:.1f} %")
            for each in scores
        ],
    )


def _run(place: Path, *arguments: str) -> str:
    # Its progress comes on one line that it writes again and again.
    done = subprocess.run(
        [sys.executable, "-m", "mutmut", *arguments], cwd=place, capture_output=True, text=True, check=False
    )
    return (done.stdout + done.stderr).rpartition("\r")[2]


if __name__ == "__main__":
    main()
