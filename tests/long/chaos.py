"""Random faults, policies and work in virtual time, judged by the service's ledger.

``python -m tests.long.chaos --seeds 200`` prints a line for each seed and a total.
"""

# ruff: noqa: T201, SLF001  a program that prints and looks at the counts of faults

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from attrs import define, evolve, field

from cmsapi import Client, LaunchPolicy, PollPolicy, RetryPolicy, Timeouts
from cmsapi.errors import DeadlineError, JobWaitTimeoutError, LaunchUnknownError, UnclearJobError
from cmsapi.messages import Request, Response
from cmsapi.sandbox import Fault, Faults, Limits, Lognormal, Sandbox
from tests.long.worker import launcher
from tests.support.strict import virtually

PARTS = {"analyze": "analysis", "content-idea-searches": "search", "atomic": "generation"}
DAY = 86_400.0


@define
class Verdict:
    """The outcome of one seed."""

    seed: int
    items: int = 0  # of all fan-outs
    launches: int = 0  # that the service has accepted
    ends: Counter[str] = field(factory=Counter)  # outcomes by the class of their errors
    faults: list[str] = field(factory=list)  # what must not be
    hours: float = 0.0  # virtual
    seconds: float = 0.0  # real


class Witness:
    """A sandbox's transport that notes how each launch was answered, and can show outdated documents for a while.

    For ``lag`` seconds a document does not show a launch.
    """

    def __init__(self, sandbox: Sandbox, lag: float) -> None:
        self._inner = sandbox.transport
        self._lag = lag
        self._accepted: dict[str, float] = {}  # paths of documents, and when a launch changed them
        self.answers: list[tuple[str, str]] = []

    async def send(self, request: Request) -> Response:
        """Send a request, and note the response."""
        path = request.url.partition("://")[2].partition("/")[2].partition("?")[0]
        loop = asyncio.get_running_loop()
        at = loop.time()
        launch = request.method == "POST" and path.rpartition("/")[2] in PARTS
        try:
            response = await self._inner.send(request)
        except BaseException as error:
            if launch:
                self.answers.append((path, type(error).__name__))
                self._accepted.setdefault(self._document(path), at)
            raise
        if launch:
            specified = b'"error"' in (response.body or b"")
            self.answers.append((path, f"{response.status}{'' if specified else ' foreign'}"))
            if response.status < 300:
                self._accepted[self._document(path)] = at
        elif at < self._accepted.get(path, -DAY) + self._lag and response.status == 200:
            return self._before(path, response)
        return response

    async def aclose(self) -> None:
        """Close the transport."""
        await self._inner.aclose()

    @staticmethod
    def _document(path: str) -> str:
        parent, _, last = path.rpartition("/")
        return f"{parent}/generation" if last == "atomic" else parent

    @staticmethod
    def _before(path: str, response: Response) -> Response:
        if path.endswith("/generation"):
            body = b'{"error": {"code": "not_found", "message": "The content has no generation."}}'
            return evolve(response, status=404, body=body)
        if "keywords/" in path or "prompts/" in path:
            identifier = path.rpartition("/")[2]
            return evolve(response, body=f'{{"id": "{identifier}", "analysisStatus": null}}'.encode())
        return response


def faults_of(rng: random.Random) -> list[Fault]:
    """Return the faults for a seed; the more harmful they are, the rarer."""
    names = ["analyze_*", "start_content_idea_search", "generate_content", "get_*", "list_content_ideas", "*"]

    def some(**what: Any) -> Fault:
        return Fault(match=rng.choice(names), share=rng.uniform(0.01, 0.2), **what)

    kinds: list[Callable[[], Fault]] = [
        lambda: some(status=rng.choice([500, 502, 503])),
        lambda: some(status=rng.choice([429, 503]), retry_after=rng.choice([None, 1, 20, 120])),
        lambda: some(status=rng.choice([400, 401, 402, 403, 404, 409, 418, 422])),
        lambda: some(status=rng.choice([404, 500, 502, 503, 504]), body="foreign"),
        lambda: some(status=rng.choice([500, 502, 504]), body="foreign", effect=True),
        lambda: some(status=rng.choice([500, 502]), effect=True),
        lambda: some(drop="before"),
        lambda: some(drop="after"),
        lambda: some(refuse=True),
        lambda: some(garbage=True),
        lambda: some(slow=rng.uniform(1, 40)),
    ]
    rules = [rng.choice(kinds)() for _ in range(rng.randint(0, 5))]
    for _ in range(rng.choice([0, 0, 1, 2])):
        since = rng.uniform(0, 1200)
        until = since + rng.uniform(60, 900)
        how: dict[str, Any] = rng.choice(
            [{"refuse": True}, {"status": 503}, {"status": 502, "body": "foreign"}, {"drop": "before"}]
        )
        rules.append(Fault(since=since, until=until, **how))
    return rules


class Run:
    """One seed."""

    def __init__(self, seed: int) -> None:
        rng = self.rng = random.Random(seed)
        latencies: list[float | tuple[float, float]] = [0.01, (0.02, 0.3), (0.1, 3.0)]
        self.verdict = Verdict(seed)
        sizes = [rng.choice([0, 5, 30, 80]), rng.choice([0, 5, 20]), rng.choice([1, 10, 40])]
        self.sandbox = Sandbox(
            seed=seed,
            keywords=sizes[0],
            contents=max(1, sizes[1]),
            limits=Limits(used=rng.choice([0, 0, 0, 300, 900 if sum(sizes) < 40 else 0])),
            durations=Lognormal(rng.choice([5, 60, 300]), rng.choice([0.2, 1.0])),
            faults=Faults(faults_of(rng), latency=rng.choice(latencies)),
            clock_skew=rng.choice([-4000.0, 0.0, 4000.0]),
            epoch=1_800_000_000.0,
        )
        self.lag = rng.choice([0.0, 0.0, 3.0, 30.0])
        self.witness = Witness(self.sandbox, self.lag)
        self.timeout = rng.choice([None, None, 300.0, 3000.0])
        self.polling = PollPolicy(
            min_interval=rng.choice([2.0, 5.0]),
            max_interval=rng.choice([5.0, 10.0, 30.0]),
            unclear_timeout=rng.choice([30.0, 120.0]),
            outage_timeout=rng.choice([300.0, 3600.0]),
            job_timeout=rng.choice([3600.0, 7200.0]),
        )
        self.launching = LaunchPolicy(
            dedupe=rng.choice(["join", "join", "off"]), on_unknown=rng.choice(["raise", "raise", "repeat"])
        )
        self.odd: dict[str, str | None] = {}
        searches = [f"seed {number}" for number in range(sizes[2])]
        self.items = [f"analysis:{each}" for each in self.sandbox.keyword_ids]
        self.items += [f"search:{each}" for each in searches]
        self.items += [f"prompt:{each}" for each in self.sandbox.prompt_ids]
        self.items += [f"generation:{each}" for each in self.sandbox.content_ids]
        rng.shuffle(self.items)
        for item in self.items:
            if rng.random() < 0.05:
                self.odd[item] = rng.choice(["failed", "archived", "", None])
                self.sandbox.set_outcome(item.partition(":")[2], self.odd[item])
        self.ended: dict[str, tuple[float, Any]] = {}

    async def work(self) -> None:
        """Run up to three fan-outs and batches at once, and judge them."""
        rng = self.rng
        client = Client(
            self.sandbox.api_key,
            base_url=self.sandbox.base_url,
            transport=self.witness,
            retry=RetryPolicy(max_attempts=rng.randint(1, 6), base=rng.choice([0.1, 0.5, 2.0])),
            timeouts=Timeouts(request=rng.choice([5.0, 30.0]), deadline=rng.choice([None, None, 600.0])),
            polling=self.polling,
            launch=self.launching,
        )
        loop = asyncio.get_running_loop()
        began = loop.time()
        async with client:
            parts = rng.randint(1, 3)
            await asyncio.gather(*(self._fan_out(client, self.items[part::parts], part) for part in range(parts)))
            self.verdict.hours = (loop.time() - began) / 3600
            self._judge(await client.jobs.unknown())

    async def _fan_out(self, client: Client, items: list[str], number: int) -> None:
        rng = random.Random(f"{self.verdict.seed} {number}")
        options: dict[str, Any] = {"in_flight": rng.choice(["auto", 5, 20]), "timeout": self.timeout}
        options["ordered"] = rng.random() < 0.3
        launch, loop = launcher(client, self.sandbox.workspace_id), asyncio.get_running_loop()
        if rng.random() < 0.5:
            outcomes = client.jobs.batch(f"part {number}").map(launch, items, on_review="confirm", **options)
        else:
            outcomes = client.jobs.map(launch, items, **options)
        try:
            async with asyncio.timeout(len(items) * 2 * self.polling.job_timeout):
                async for outcome in outcomes:
                    if outcome.item in self.ended:
                        self.verdict.faults.append(f"two outcomes of {outcome.item}")
                    self.ended[outcome.item] = (loop.time() if not options["ordered"] else -1.0, outcome)
        except TimeoutError:
            self.verdict.faults.append(f"fan-out {number} does not end")
        except Exception as error:  # an error of the service must be an outcome
            self.verdict.faults.append(f"fan-out {number} ends with {type(error).__name__}: {error}")

    def _judge(self, unknown: list[LaunchUnknownError]) -> None:
        verdict, sandbox = self.verdict, self.sandbox
        verdict.items, verdict.launches = len(self.items), len(sandbox.ledger.launches)
        verdict.ends = Counter(type(each.error).__name__ if each.error else "ok" for _, each in self.ended.values())
        if missing := set(self.items) - set(self.ended):
            verdict.faults.append(f"no outcome: {sorted(missing)[:5]} and {len(missing)} in all")
        made = sum(hit for fault, (_, hit) in sandbox.faults._counts.items() if fault.status == 429)
        refused = sandbox.ledger.count(status=429) - made
        if refused > 0:
            verdict.faults.append(f"{refused} x 429 that no fault made")
        launches = Counter(f"{each.kind}:{each.target}" for each in sandbox.ledger.launches)
        most = 2 if self.launching.on_unknown == "repeat" else 1
        for item, count in launches.items():
            if count > most:
                verdict.faults.append(f"{count} x paid: {item}, answers {self._answers(item)}, lag {self.lag:g}")
        for item, (at, outcome) in self.ended.items():
            told = (
                outcome.ok or outcome.job is not None or isinstance(outcome.error, LaunchUnknownError | DeadlineError)
            )
            if launches[item] and not told:
                verdict.faults.append(f"paid without a word: {item}, {outcome.error!r}, {self._answers(item)}")
            if outcome.ok and not launches[item]:
                verdict.faults.append(f"success without a launch: {item}")
            if outcome.ok and self.odd.get(item, "success") != "success":
                verdict.faults.append(f"success of {item}, whose word is {self.odd[item]!r}")
            self._judge_wait(item, at, outcome)
        left = Counter(str(type(each).__name__) for each in unknown)["LaunchUnknownError"]
        mine = verdict.ends["LaunchUnknownError"]
        if left < sum(isinstance(each.error, LaunchUnknownError) for _, each in self.ended.values()):
            verdict.faults.append(f"jobs.unknown() has {left} of {mine}")

    def _answers(self, item: str) -> list[str]:
        target = item.partition(":")[2]
        return [answer for path, answer in self.witness.answers if target in path] or ["search"]

    def _judge_wait(self, item: str, at: float, outcome: Any) -> None:
        times = [each.time for each in self.sandbox.ledger.launches if f"{each.kind}:{each.target}" == item]
        if at < 0 or not times:
            return
        waited = at - times[-1]
        if isinstance(outcome.error, JobWaitTimeoutError):
            limit = min(self.timeout or DAY, self.polling.job_timeout)
            if not limit - 60 <= waited <= limit + 60:
                self.verdict.faults.append(f"{item}: timeout {limit:g} after {waited:.0f} s")
        elif self.timeout is not None and outcome.job is not None and waited > self.timeout + 60:
            self.verdict.faults.append(f"{item}: {waited:.0f} s instead of timeout {self.timeout:g}")
        if isinstance(outcome.error, UnclearJobError) and waited < self.polling.unclear_timeout:
            self.verdict.faults.append(f"{item}: unclear after {waited:.0f} s: {outcome.error}")
        if waited > self.polling.job_timeout + 60 and not isinstance(outcome.error, LaunchUnknownError):
            self.verdict.faults.append(f"{item}: {waited:.0f} s, {outcome.error!r}")


def judge(seed: int) -> Verdict:
    """Run one seed and return its verdict."""
    began, run = time.perf_counter(), Run(seed)
    random.seed(seed)  # the jitter of retries
    try:
        virtually(run.work())
    except Exception as error:
        run.verdict.faults.append(f"{type(error).__name__}: {error}")
    run.verdict.seconds = time.perf_counter() - began
    return run.verdict


def line(verdict: Verdict) -> str:
    """Return a verdict as a line of the table, with its problems below it."""
    head = f"{verdict.seed:5} {verdict.items:5} {verdict.launches:8} {verdict.hours:6.1f} h {verdict.seconds:6.1f} s"
    shown = [f"       ! {fault}" for fault in verdict.faults[:6]]
    return "\n".join([f"{head} {dict(verdict.ends)}", *shown])


def main() -> None:
    """Run the seeds that the arguments name; the exit status is 1 if anything went wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first", type=int, default=0)
    options = parser.parse_args()
    verdicts = []
    print(" seed items launches  virtual    real ends", flush=True)
    for seed in range(options.first, options.first + options.seeds):
        verdicts.append(judge(seed))
        print(line(verdicts[-1]), flush=True)
    ends = sum((verdict.ends for verdict in verdicts), Counter[str]())
    bad = [verdict.seed for verdict in verdicts if verdict.faults]
    launches = sum(verdict.launches for verdict in verdicts)
    print(f"{len(verdicts)} seeds, {launches} launches, {len(bad)} with faults {bad}, ends {dict(ends)}")
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
