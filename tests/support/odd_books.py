"""A small service with odd books, apart from the sandbox: it shares no idea of billing with it or with the SDK.

It takes launches of all four paid kinds, loses answers before or after their effect, and bills as its habits say: late,
at the end, never, with refunds, under other identities and in other words. It counts what each launch has cost, so that
a test can tell who has paid twice.
"""

from __future__ import annotations

import asyncio
import json
import random
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qs, urlsplit

import attrs

import cmsapi
from cmsapi.message import Request, Response

EPOCH = 1_790_000_000.0
TYPES = {"analysis": "analysis", "ai_writing": "aiWriting", "content_idea_search": "contentIdeasSearches"}
ME = {"id": "usr_1", "firstName": "Ada", "lastName": "Lovelace"}
COLLEAGUE = {"id": "usr_2", "firstName": "Grace", "lastName": "Hopper"}
IDENTITIES: dict[str, Any] = {
    "me": ME,
    "api": {"id": "api", "firstName": "API", "lastName": ""},
    "member": {**ME, "id": "mem_77"},
    "null": None,
}
AT_THE_END = -1.0


@attrs.frozen(kw_only=True)
class Habits:
    """What a service does that the specification does not rule out.

    Args:
        billed_after: Seconds from a launch to its charge; `AT_THE_END` for the end of the job.
        free: Share of the launches that cost nothing.
        refunded: Share of the launches that are given back when their jobs end.
        refund: How: a `row`, the `balance` only, or the row `deleted`.
        identity: Under whom usages stand.
        writing: How usages write what they are for.
        rows_after: Seconds by which the list of usages is behind the balance.
        refused: Status with which usages are refused; 0 for none.
        page_cap: The most usages on a page.
        oldest_first: Whether the oldest usage comes first.
        foreign: Seconds between the launches of a colleague; 0 for none.
        foreign_identity: Under whom those stand.
        shown_after: Seconds after which the resources show a launch.
        lost: Share of the launches whose answer is lost.
        lost_after: Share of those that take effect all the same.
        failed: Share of the launches that the service refuses with its own 500 or 503.
        seconds: How long jobs take.
        latency: The longest time of an answer.
    """

    billed_after: float = 0.0
    free: float = 0.0
    refunded: float = 0.0
    refund: str = "row"
    identity: str = "me"
    writing: str = "exact"
    rows_after: float = 0.0
    refused: int = 0
    page_cap: int = 100
    oldest_first: bool = False
    foreign: float = 0.0
    foreign_identity: str = "me"
    shown_after: float = 0.0
    lost: float = 0.0
    lost_after: float = 0.5
    failed: float = 0.0
    seconds: tuple[float, float] = (30.0, 90.0)
    latency: float = 0.3


def draw_habits(rng: random.Random) -> Habits:
    """Draw a service: each habit is ordinary more often than not, so that some go together."""

    def odd(chance: float, ordinary: Any, *others: Any) -> Any:
        return rng.choice(others) if rng.random() < chance else ordinary

    return Habits(
        billed_after=odd(0.3, 0.0, 0.5, 5.0, 61.0, 70.0, 120.0, 300.0, AT_THE_END, AT_THE_END),
        free=odd(0.3, 0.0, 0.2, 0.5),
        refunded=odd(0.3, 0.0, 0.3, 0.8),
        refund=rng.choice(("row", "balance", "deleted")),
        identity=odd(0.3, "me", "api", "member", "null", "mixed"),
        writing=odd(0.35, "exact", "id", "words", "null", "lower", "cut", "same", "mixed"),
        rows_after=odd(0.2, 0.0, 2.0, 70.0),
        refused=odd(0.12, 0, 403, 404, 500),
        page_cap=odd(0.25, 100, 1, 3, 10),
        oldest_first=rng.random() < 0.15,
        foreign=odd(0.3, 0.0, 5.0, 40.0),
        foreign_identity=rng.choice(("me", "colleague", "api")),
        shown_after=odd(0.3, 0.0, 20.0, 80.0, 200.0),
        lost=rng.choice((0.1, 0.3, 0.6)),
        lost_after=rng.choice((0.2, 0.5, 0.8)),
        failed=odd(0.3, 0.0, 0.1, 0.3),
        seconds=rng.choice(((30.0, 90.0), (20.0, 20.0), (100.0, 400.0))),
    )


@attrs.define(eq=False)
class Taken:
    """One launch that the service has taken."""

    type: str
    target: str
    text: str
    at: float
    ends_at: float
    id: str
    charged: bool = False
    given_back: bool = False
    row: dict[str, Any] | None = None

    @property
    def cost(self) -> int:
        """What it has cost in the end."""
        return int(self.charged) - int(self.given_back)


class OddService:
    """Answer requests, as the transport of a client."""

    def __init__(self, habits: Habits, seed: object = 0, *, names: dict[str, str] | None = None) -> None:
        self.habits = habits
        self.rng = random.Random(f"{seed}:service")
        #: What the targets of analyses and generations are called.
        self.names: dict[str, str] = names or {}
        self.taken: list[Taken] = []
        self.balances = dict.fromkeys(TYPES, 10_000)
        self.rows: dict[str, list[dict[str, Any]]] = {type_: [] for type_ in TYPES}
        #: From when answers are lost, in seconds of the loop.
        self.loses_from = 0.0
        #: The next launches, each lost "before" or "after" its effect; others follow the habits.
        self.script: list[str | None] = []
        self.tasks: list[asyncio.Task[None]] = []
        self.requests: list[str] = []

    def client(self, **options: Any) -> cmsapi.Client:
        """Make a client of it."""
        options.setdefault("limits", cmsapi.RateLimits.unlimited())
        return cmsapi.Client("sk_test", base_url="https://odd.example", transport=self, **options)

    async def aclose(self) -> None:
        """Stop what is still to happen."""
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)

    async def send(self, request: Request) -> Response:
        """Answer one request."""
        now = asyncio.get_running_loop().time
        parts = urlsplit(request.url)
        path = parts.path.removeprefix("/v1/").split("/")
        self.requests.append(f"{request.method} {parts.path}")
        await asyncio.sleep(self.rng.uniform(0.01, self.habits.latency))
        if request.method == "POST" and (launch := self._launch_of(path, request)) is not None:
            return await self._answer_launch(launch)
        return self._answer_read(path, {name: value[0] for name, value in parse_qs(parts.query).items()}, now())

    # Launches

    def _launch_of(self, path: list[str], request: Request) -> tuple[str, str, str] | None:
        match path:
            case ["keywords" | "prompts", target, "analyze"]:
                return "analysis", target, self.names.get(target, target)
            case ["contents", target, "atomic"]:
                return "ai_writing", target, self.names.get(target, target)
            case ["workspaces", _, "content-idea-searches"]:
                keyword = json.loads(request.body or b"{}")["keyword"]
                return "content_idea_search", keyword, keyword
        return None

    async def _answer_launch(self, launch: tuple[str, str, str]) -> Response:
        habits, rng, now = self.habits, self.rng, asyncio.get_running_loop().time()
        fate = self.script.pop(0) if self.script else None
        if fate is None and now >= self.loses_from:
            if rng.random() < habits.failed:
                fate = "failed"
            elif rng.random() < habits.lost:
                fate = "after" if rng.random() < habits.lost_after else "before"
        if fate == "failed":
            status, code = rng.choice(((500, "internal_error"), (503, "service_unavailable")))
            return self._json(status, {"error": {"code": code, "message": "Try again."}})
        if fate == "before":
            raise cmsapi.OutcomeUnknownError("The connection broke.")
        taken = self._take(*launch)
        if fate == "after":
            raise cmsapi.OutcomeUnknownError("The connection broke.")
        if taken.type == "content_idea_search":
            return self._json(202, self._search(taken, now))
        if taken.type == "ai_writing":
            return self._json(200, {"id": taken.id, "status": "queued"})
        return self._json(200, {"message": "Started."})

    def _take(self, type_: str, target: str, text: str) -> Taken:
        now, habits = asyncio.get_running_loop().time(), self.habits
        taken = Taken(type_, target, text, now, now + self.rng.uniform(*habits.seconds), f"job_{len(self.taken)}")
        self.taken.append(taken)
        free, back = self.rng.random() < habits.free, self.rng.random() < habits.refunded
        self.tasks.append(asyncio.create_task(self._bill(taken, free=free, back=back)))
        if not free and habits.billed_after == 0:
            self._charge(taken)
        return taken

    async def _bill(self, taken: Taken, *, free: bool, back: bool) -> None:
        after, loop = self.habits.billed_after, asyncio.get_running_loop()
        if free:
            return
        if after:
            await asyncio.sleep(taken.ends_at - loop.time() if after == AT_THE_END else after)
            self._charge(taken)
        if back:
            await asyncio.sleep(max(0.0, taken.ends_at - loop.time()))
            self.balances[taken.type] += 1
            taken.given_back = True
            if self.habits.refund == "deleted":
                assert taken.row is not None
                self.rows[taken.type].remove(taken.row)
            elif self.habits.refund == "row":
                self._write(taken.type, taken.text, taken.target, self.habits.identity, -1)

    def _charge(self, taken: Taken) -> None:
        self.balances[taken.type] -= 1
        taken.charged = True
        taken.row = self._write(taken.type, taken.text, taken.target, self.habits.identity, 1)

    def _write(self, type_: str, text: str, target: str, identity: str, amount: int) -> dict[str, Any]:
        if identity == "mixed":
            identity = self.rng.choice(("me", "api"))
        row = {
            "id": f"use_{self.rng.getrandbits(40):x}",
            "at": asyncio.get_running_loop().time(),
            "amount": amount,
            "remainingCredits": self.balances[type_],
            "type": type_,
            "keyword": self._written(text, target),
            "user": COLLEAGUE if identity == "colleague" else IDENTITIES[identity],
            "workspace": {"id": "ws_1", "name": "Shop"},
        }
        self.rows[type_].append(row)
        return row

    def _written(self, text: str, target: str) -> dict[str, str] | None:
        way = self.habits.writing
        if way == "mixed":
            way = self.rng.choice(("exact", "null", "words", "id"))
        if way == "null":
            return None
        ways = {
            "exact": text,
            "id": f"{target} {text} (us)",
            "words": " ".join(reversed(text.split())) + " words",
            "lower": text.lower(),
            "cut": text[:5],
            "same": "a keyword",
        }
        return {"keyword": ways[way], "countryCode": "US", "languageCode": "en"}

    async def spend(self, type_: str) -> None:
        """Have a colleague launch now and then."""
        while self.habits.foreign:
            await asyncio.sleep(self.rng.expovariate(1 / self.habits.foreign))
            self.balances[type_] -= 1
            text = self.rng.choice([taken.text for taken in self.taken] or ["tents"])
            if self.rng.random() < 0.5:
                text = "another"
            self._write(type_, text, "kw_x", self.habits.foreign_identity, 1)

    # Reads

    def _answer_read(self, path: list[str], query: dict[str, str], now: float) -> Response:
        match path:
            case ["me"]:
                return self._json(200, self._me())
            case ["credit-usages"]:
                return self._usages(query, now)
            case ["keywords" | "prompts" as what, target]:
                return self._json(200, self._analysis(what, target, now))
            case ["contents", target, "generation"]:
                shown = self._shown("ai_writing", target, now)
                if not shown:
                    return self._json(404, {"error": {"code": "not_found", "message": "None."}})
                status = "review" if now >= shown[-1].ends_at else "queued"
                return self._json(200, {"id": shown[-1].id, "status": status})
            case ["content-idea-searches", id_]:
                return self._json(200, self._search(next(each for each in self.taken if each.id == id_), now))
            case ["content-idea-searches", _, "content-ideas"]:
                return self._json(
                    200, {"data": [], "pagination": {"total": 0, "page": 1, "limit": 100, "hasMore": False}}
                )
        return self._json(404, {"error": {"code": "not_found", "message": "No such thing."}})

    def _shown(self, type_: str, target: str, now: float) -> list[Taken]:
        return [
            each
            for each in self.taken
            if (each.type, each.target) == (type_, target) and now >= each.at + self.habits.shown_after
        ]

    def _analysis(self, what: str, target: str, now: float) -> dict[str, Any]:
        shown = self._shown("analysis", target, now)
        running = any(now < each.ends_at for each in shown)
        ended = [each.ends_at for each in shown if each.ends_at <= now]
        return {
            "id": target,
            what[:-1]: self.names.get(target, target),
            "analysisStatus": "pending" if running else "success" if ended else None,
            "lastAnalyzedAt": _stamp(max(ended)) if ended else None,
        }

    def _search(self, taken: Taken, now: float) -> dict[str, Any]:
        over = now >= taken.ends_at
        return {
            "id": taken.id,
            "createdAt": _stamp(taken.at),
            "keyword": taken.text,
            "nbContentIdeas": 0 if over else None,
            "searchVolume": None,
            "status": "success" if over else "pending",
        }

    def _usages(self, query: dict[str, str], now: float) -> Response:
        habits = self.habits
        if habits.refused:
            return self._json(habits.refused, {"error": {"code": "forbidden", "message": "Admins only."}})
        rows = [row for row in self.rows[query["type"]] if now >= row["at"] + habits.rows_after]
        if not habits.oldest_first:
            rows.reverse()
        number, limit = int(query["page"]), min(int(query["limit"]), habits.page_cap)
        page = rows[(number - 1) * limit : number * limit]
        said = {"total": len(rows), "page": number, "limit": limit, "hasMore": number * limit < len(rows)}
        data = [{**{name: row[name] for name in row if name != "at"}, "createdAt": _stamp(row["at"])} for row in page]
        return self._json(200, {"data": data, "pagination": said})

    def _me(self) -> dict[str, Any]:
        organization = {
            "id": "org_1",
            "name": "Org",
            "createdAt": _stamp(0.0),
            "brandName": None,
            "brandImageUrl": None,
            "credits": {TYPES[type_]: balance for type_, balance in self.balances.items()},
            "usersCount": 2,
            "workspacesCount": 1,
        }
        more = {"email": "ada@example.com", "profileImageUrl": None, "jobTitle": "", "languageCode": "en"}
        return {**ME, **more, "organization": organization, "createdAt": _stamp(0.0)}

    def _json(self, status: int, document: Any) -> Response:
        now = datetime.fromtimestamp(EPOCH + asyncio.get_running_loop().time(), UTC)
        headers = {"Content-Type": "application/json", "Date": now.strftime("%a, %d %b %Y %H:%M:%S GMT")}
        return Response(status, headers, json.dumps(document).encode())


def _stamp(moment: float) -> str:
    return datetime.fromtimestamp(EPOCH + moment, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
