"""Content-idea searches (specification 4.6)."""

from __future__ import annotations

from cmsapi.sandbox import documents
from cmsapi.sandbox.call import Call
from cmsapi.sandbox.documents import Document
from cmsapi.sandbox.jobs import Outcome
from cmsapi.sandbox.refusal import Refusal
from cmsapi.sandbox.store import Record

FEWEST_IDEAS = 5  # ideas that a search finds, unless its outcome sets a number
MOST_IDEAS = 40  # likewise; above the default page size, so that some lists have several pages
ANGLES = ["for beginners", "compared", "checklist", "mistakes", "on a budget", "in winter", "explained", "near me"]


def start_content_idea_search(call: Call) -> Document:
    """Launch a content-idea search, which costs one credit; its ideas are available once it has succeeded."""
    workspace, keyword, store = call.record["id"], call.body["keyword"], call.store

    def find_ideas(search: Record, at: float, outcome: Outcome) -> None:
        if outcome.word != "success":
            return
        count = store.rng.randint(FEWEST_IDEAS, MOST_IDEAS) if outcome.ideas is None else outcome.ideas
        search.update(nbContentIdeas=count, searchVolume=store.search_volume())
        for number in range(count):
            text = f"{keyword} {ANGLES[number % len(ANGLES)]} {number + 1}"
            idea = {"id": store.new_id("cid"), "keyword": text, "searchVolume": store.search_volume()}
            search["ideas"].append({**idea, "createdAt": store.clock.stamp(at)})

    call.jobs.check("search")
    search = store.add(
        "searches", workspaceId=workspace, keyword=keyword, ideas=[], nbContentIdeas=None, searchVolume=None
    )
    call.jobs.launch("search", search, user=call.user, target=keyword, keyword=keyword, finished=find_ideas)
    return documents.search(store, search)


def list_content_ideas(call: Call) -> Document:
    """Return a page of a search's ideas. Until the search succeeds, return a 409 or an empty page (see `Choices`)."""
    search = call.record
    if search["status"] != "success" and call.store.choices.ideas_before_success == "conflict":
        raise Refusal(409, "The search has not succeeded.")
    return call.page(search["ideas"], documents.idea)
