"""A service that keeps to the letter of the specification, and is nasty wherever that is silent.

It shares nothing with the sandbox. Each subclass has one habit that its authors did not imagine; `test_hostile.py` runs
fan-outs against all of them. The clock of the service is that of the loop.
"""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Sequence
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import Any
from urllib.parse import parse_qs, urlsplit

import attrs

import cmsapi
from cmsapi.message import Request, Response

EPOCH = 1_790_000_000.0
BALANCES = {"analysis": "analysis", "ai_writing": "aiWriting", "content_idea_search": "contentIdeasSearches"}
TYPES = {"keyword": "analysis", "generation": "ai_writing", "search": "content_idea_search"}
IDEAS = 3


def now() -> float:
    """Return the loop's time."""
    return asyncio.get_running_loop().time()


def answer(status: int, document: Any, headers: dict[str, str] | None = None) -> Response:
    """Make an answer of the service, whose `Date` is right."""
    date = format_datetime(datetime.fromtimestamp(EPOCH + now(), UTC), usegmt=True)
    return Response(
        status, {"Content-Type": "application/json", "Date": date, **(headers or {})}, json.dumps(document).encode()
    )


def refusal(status: int, code: str, headers: dict[str, str] | None = None) -> Response:
    """Make an error in the form of the specification."""
    return answer(status, {"error": {"code": code, "message": "no"}}, headers)


def page(status: int) -> Response:
    """Make the page of a proxy."""
    return Response(status, {"Content-Type": "text/html"}, b"<html>Maintenance</html>")


@attrs.define(eq=False)
class Launch:
    """One launch that was taken and paid."""

    kind: str
    target: str
    id: str
    at: float
    ends_at: float

    @property
    def over(self) -> bool:
        """Whether it has ended."""
        return now() >= self.ends_at


class Service:
    """Answer requests; a subclass overrides what is odd about it."""

    def __init__(self) -> None:
        self.rng = random.Random(type(self).__name__)
        self.launches: list[Launch] = []
        self.usages: list[dict[str, Any]] = []
        self.requests: list[str] = []
        #: The query of the newest request.
        self.query: dict[str, str] = {}

    async def send(self, request: Request) -> Response:
        """Answer one request, as the transport of a client."""
        url = urlsplit(request.url)
        self.requests.append(f"{request.method} {url.path}")
        await asyncio.sleep(self.rng.uniform(0.02, 0.2))
        before = self.before(request)
        if before is not None:
            return before
        self.query = {name: values[0] for name, values in parse_qs(url.query).items()}
        parts = url.path.removeprefix("/v1/").split("/")
        return self.after(request, self.answered(request.method, parts, json.loads(request.body or b"{}")))

    # What is odd

    def before(self, request: Request) -> Response | None:
        """Answer in place of the service, or break the connection before the effect."""

    def after(self, request: Request, response: Response) -> Response:
        """Change an answer, or break the connection after the effect."""
        return response

    def seconds(self) -> float:
        """Say how long the next job takes."""
        return self.rng.uniform(20.0, 60.0)

    def word(self, over: bool, end: str = "success") -> str:
        """Say how a job stands."""
        return end if over else "pending"

    def visible(self, launch: Launch) -> bool:
        """Tell whether reads show a launch."""
        return True

    def listed(self, keyword: dict[str, Any]) -> dict[str, Any]:
        """Show a keyword in a list."""
        return keyword

    def ideas(self, launch: Launch) -> Response:
        """Show the ideas of a search."""
        return self.listing([{"id": f"idea_{number}", "keyword": "x"} for number in range(IDEAS)])

    def search(self, launch: Launch) -> dict[str, Any]:
        """Show a search."""
        found = IDEAS if launch.over else None
        return {"id": launch.id, "keyword": launch.target, "nbContentIdeas": found, "status": self.word(launch.over)}

    # What is ordinary

    def of(self, kind: str, target: str) -> list[Launch]:
        """Return the launches of a target that reads show."""
        return [each for each in self.launches if (each.kind, each.target) == (kind, target) and self.visible(each)]

    def paid(self, target: str) -> int:
        """Count the launches of a target."""
        return sum(each.target == target for each in self.launches)

    def listing(self, items: Sequence[object]) -> Response:
        """Answer with a list of one page."""
        place = {"total": len(items), "page": 1, "limit": 100, "hasMore": False}
        return answer(200, {"data": items, "pagination": place})

    def answered(self, method: str, parts: list[str], body: dict[str, Any]) -> Response:
        """Do what a request asks for."""
        if method == "POST":
            return self.launched(parts, body)
        match parts:
            case ["me"]:
                return answer(200, self.me())
            case ["credit-usages"]:
                return self.listing([each for each in reversed(self.usages) if each["type"] == self.query["type"]])
            case ["keywords", target]:
                return answer(200, self.keyword(target))
            case ["pages", _, "keywords"]:
                targets = dict.fromkeys(each.target for each in self.launches)
                return self.listing([self.listed(self.keyword(target)) for target in targets])
            case ["content-idea-searches", id_, *rest]:
                return self.searched(id_, ideas=bool(rest))
            case ["contents", target, "generation"]:
                return self.generated(target)
        return refusal(404, "not_found")

    def launched(self, parts: list[str], body: dict[str, Any]) -> Response:
        """Answer a launch."""
        match parts:
            case ["keywords", target, "analyze"]:
                self.take("keyword", target)
                return answer(200, {"message": "Started."})
            case ["workspaces", _, "content-idea-searches"]:
                return answer(202, self.search(self.take("search", body["keyword"])))
            case ["contents", target, "atomic"]:
                return answer(200, {"id": self.take("generation", target).id, "status": "queued"})
        return refusal(404, "not_found")

    def searched(self, id_: str, *, ideas: bool) -> Response:
        """Answer with a search, or with its ideas."""
        shown = next((each for each in self.launches if each.id == id_ and self.visible(each)), None)
        if shown is None:
            return refusal(404, "not_found")
        if not ideas:
            return answer(200, self.search(shown))
        return self.ideas(shown) if shown.over else refusal(409, "conflict")

    def generated(self, target: str) -> Response:
        """Answer with the current generation of a content."""
        shown = self.of("generation", target)
        if not shown:
            return refusal(404, "not_found")
        return answer(200, {"id": shown[-1].id, "status": self.word(shown[-1].over, "review")})

    def take(self, kind: str, target: str) -> Launch:
        """Take a launch and charge it."""
        launch = Launch(kind, target, f"job_{len(self.launches)}", now(), now() + self.seconds())
        self.launches.append(launch)
        usage = {
            "id": f"use_{len(self.usages)}",
            "createdAt": stamp(now()),
            "amount": 1,
            "type": TYPES[kind],
            "keyword": {"keyword": target, "countryCode": "US", "languageCode": "en"},
            "user": {"id": "usr_1", "firstName": "Ada", "lastName": "Lovelace"},
            "workspace": {"id": "wsp_1", "name": "Shop"},
        }
        self.usages.append({**usage, "remainingCredits": self.balance(TYPES[kind]) - 1})
        return launch

    def balance(self, type_: str) -> int:
        """Return what is left of a balance."""
        return 1000 - len([each for each in self.usages if each["type"] == type_])

    def keyword(self, target: str) -> dict[str, Any]:
        """Show a keyword."""
        shown = self.of("keyword", target)
        at = max((each.ends_at for each in shown if each.over), default=None)
        return {
            "id": target,
            "keyword": target,
            "analysisStatus": self.word(all(each.over for each in shown)) if shown else None,
            "lastAnalyzedAt": None if at is None else stamp(at),
            "pageId": "pag_1",
        }

    def me(self) -> dict[str, Any]:
        """Show the user."""
        credits_left = {name: self.balance(type_) for type_, name in BALANCES.items()}
        return {"id": "usr_1", "organization": {"id": "org_1", "name": "Shop", "credits": credits_left}}


def stamp(moment: float) -> str:
    """Write a moment of the loop."""
    return datetime.fromtimestamp(EPOCH + moment, UTC).isoformat().replace("+00:00", "Z")


class Shouting(Service):
    """Write its words in capitals, between spaces."""

    def word(self, over: bool, end: str = "success") -> str:
        return f" {super().word(over, end).upper()} "


class CountsSeconds(Service):
    """Write times as seconds, and volumes as texts."""

    def search(self, launch: Launch) -> dict[str, Any]:
        return {**super().search(launch), "createdAt": EPOCH + launch.at, "searchVolume": "90"}

    def me(self) -> dict[str, Any]:
        return {**super().me(), "createdAt": EPOCH}


class MovesIdeas(Service):
    """Show pages of two ideas, and the last one of the first page once more on the second, for a minute."""

    def ideas(self, launch: Launch) -> Response:
        number = int(self.query.get("page", "1"))
        first = 2 * (number - 1) - (number == 2 and now() < launch.ends_at + 60.0)
        shown = [{"id": f"idea_{each}", "keyword": "x"} for each in range(IDEAS)][first : first + 2]
        place = {"total": IDEAS, "page": number, "limit": 2, "hasMore": number == 1}
        return answer(200, {"data": shown, "pagination": place})


class Jumping(Service):
    """Take ten minutes for each job after the sixth."""

    def seconds(self) -> float:
        return 600.0 if len(self.launches) >= 6 else super().seconds()


class FrozenList(Service):
    """Show lists from a cache, in which all keywords are being analysed."""

    def listed(self, keyword: dict[str, Any]) -> dict[str, Any]:
        return {**keyword, "analysisStatus": "pending", "lastAnalyzedAt": None}


class Portal(Service):
    """Show a page of a proxy in place of one answer in eight, with a status of success."""

    def before(self, request: Request) -> Response | None:
        return page(200) if self.rng.random() < 0.125 else None


class PortalAfter(Service):
    """Do what is asked, and show a page in place of one answer in eight."""

    def after(self, request: Request, response: Response) -> Response:
        return page(200) if self.rng.random() < 0.125 else response


class SuccessfulFailures(Service):
    """Answer one request in eight with 502 and a document that looks like success."""

    def before(self, request: Request) -> Response | None:
        fake = {"id": "job_fake", "status": "success", "analysisStatus": "success", "lastAnalyzedAt": stamp(now())}
        return answer(502, fake) if self.rng.random() < 0.125 else None


class Maintenance(Service):
    """Answer with pages of 503 for ten minutes."""

    def before(self, request: Request) -> Response | None:
        return page(503) if 20.0 <= now() < 620.0 else None


class Grumbling(Service):
    """Refuse one request in eight with a 429 whose `Retry-After` is odd or missing."""

    def before(self, request: Request) -> Response | None:
        if self.rng.random() >= 0.125:
            return None
        odd = self.rng.choice(
            [{}, *({"Retry-After": each} for each in ("", "-5", "soon", "Wed, 21 Oct 2015 07:28:00 GMT"))]
        )
        return refusal(429, "rate_limited", odd)


class ShowsLate(Service):
    """Show what was launched four minutes later."""

    def visible(self, launch: Launch) -> bool:
        return now() >= launch.at + 240.0

    def seconds(self) -> float:
        return 300.0


class LosesAnswers(Service):
    """Break the connection before or after one effect in eight, and repeat each usage."""

    def before(self, request: Request) -> Response | None:
        if request.method == "POST" and self.rng.random() < 0.125:
            raise cmsapi.OutcomeUnknownError("The connection broke.")
        return None

    def after(self, request: Request, response: Response) -> Response:
        return self._broken() if request.method == "POST" and self.rng.random() < 0.125 else response

    def listing(self, items: Sequence[object]) -> Response:
        return super().listing([each for item in items for each in (item, item)])

    def _broken(self) -> Response:
        raise cmsapi.OutcomeUnknownError("The connection broke.")


class CountsTooMany(Service):
    """Say with each answer that nothing is left of the hour."""

    def after(self, request: Request, response: Response) -> Response:
        limits = {"X-RateLimit-Limit": "1000", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1800"}
        return Response(response.status, {**response.headers, **limits}, response.body)


class AsksForYears(Service):
    """Refuse one poll with a 429 whose `Retry-After` is 30 years."""

    def __init__(self) -> None:
        super().__init__()
        self.refused = False

    def before(self, request: Request) -> Response | None:
        if self.refused or not self.launches or now() < self.launches[-1].at + 5.0:
            return None
        self.refused = True
        return refusal(429, "rate_limited", {"Retry-After": str(10**9)})


class UnreadableGenerations(Service):
    """Answer with a list where one generation is asked for."""

    def generated(self, target: str) -> Response:
        return answer(200, [])


class ForgetsTheEnd(Service):
    """Show the ideas of a search, and call it pending for ever."""

    def word(self, over: bool, end: str = "success") -> str:
        return "pending"


class HidesTheGeneration(Service):
    """Show nothing in place of the article of before at first, and break each launch off before it takes effect."""

    def __init__(self) -> None:
        super().__init__()
        self.launches.append(Launch("generation", "cnt_1", "gen_before", -1e6, -1e6))

    def before(self, request: Request) -> Response | None:
        if request.method == "POST":
            raise ConnectionResetError
        reads = sum(each.endswith("/generation") for each in self.requests)
        return answer(200, None) if request.url.endswith("/generation") and reads == 1 else None


class RenamesGenerations(Service):
    """Show generations by another identifier than the answers to their launches have."""

    def generated(self, target: str) -> Response:
        shown = self.of("generation", target)
        if not shown:
            return super().generated(target)
        return answer(200, {"id": f"gen_{shown[-1].id}", "status": self.word(shown[-1].over, "review")})


class FailsWithEffect(Service):
    """Launch, answer 500 all the same, and show neither the launch nor its charge for 20 seconds."""

    def after(self, request: Request, response: Response) -> Response:
        return refusal(500, "internal_error") if request.method == "POST" else response

    def visible(self, launch: Launch) -> bool:
        return now() >= launch.at + 20.0

    def balance(self, type_: str) -> int:
        return 1000 - sum(TYPES[each.kind] == type_ and self.visible(each) for each in self.launches)

    def listing(self, items: Sequence[object]) -> Response:
        return super().listing([] if now() < 20.0 else items)
