"""Content-idea searches and their ideas (specification, sections 2.6, 3 and 4.6)."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from cmsapi.sandbox.messages.resources import show
from cmsapi.sandbox.randomness.seeded import seeded_random
from cmsapi.sandbox.texts import articles
from cmsapi.sandbox.world import jobs
from cmsapi.sandbox.world.billing import CONTENT_IDEA_SEARCH, Purchase
from cmsapi.sandbox.world.records import Idea, IdeaSearch
from cmsapi.sandbox.world.refusal import Refusal

if TYPE_CHECKING:
    from cmsapi.sandbox.messages.call import Call
    from cmsapi.sandbox.messages.resources import Document
    from cmsapi.sandbox.world.behaviour import Behaviour
    from cmsapi.sandbox.world.history import Seen
    from cmsapi.sandbox.world.jobs import Job
    from cmsapi.sandbox.world.world import World

KIND = "idea_search"


def start_content_idea_search(call: Call) -> Document:
    """Start a search; it costs one search credit."""
    workspace, world, keyword = call.workspace(), call.world, call.body["keyword"]
    purchase = Purchase(CONTENT_IDEA_SEARCH, 1, call.user, workspace, keyword)
    world.check_credits(purchase)
    search = IdeaSearch(call.store.new_id("cis"), workspace.id, keyword, world.now)
    world.history.keep_absence(search)
    world.launch(KIND, search, purchase)
    call.store.idea_searches[search.id] = search
    call.target_id = search.id
    return _show(world, world.history.present(search))


def get_content_idea_search(call: Call) -> Document:
    """Show a search; clients poll it until its status is `success`."""
    return _show(call.world, call.view(call.find(call.store.idea_searches, "contentIdeaSearchId")))


def list_content_ideas(call: Call) -> Document:
    """List the ideas of a successful search."""
    seen = call.view(call.find(call.store.idea_searches, "contentIdeaSearchId"))
    search = seen.record
    if search.status != jobs.SUCCESS and call.world.behaviour.ideas_before_success == "conflict":
        raise Refusal(409, f"the search is {search.status}")
    return call.page(_listed(seen, call.world.behaviour), partial(show, "ContentIdea"))


def complete(world: World, job: Job) -> None:
    """End a search and add its ideas."""
    search = world.store.idea_searches[job.target_id]
    world.history.keep(search, job)
    search.status, search.ended_at = job.outcome, job.ends_at
    if job.outcome == jobs.SUCCESS:
        rng, ended = seeded_random(world.seed, "ideas", search.id), world.clock.moment(job.ends_at)
        search.search_volume = rng.randrange(100, 50_000, 10)
        search.ideas = [
            Idea(world.store.new_id("idea"), phrase, rng.randrange(10, 5_000, 10), ended)
            for phrase in articles.related_phrases(rng, search.keyword, world.behaviour.ideas)
        ]


def _listed(seen: Seen[IdeaSearch], behaviour: Behaviour) -> list[Idea]:
    """Return the ideas that are listed already: they appear one after the other, and the last ones may never."""
    ideas = seen.record.ideas
    since = seen.at - seen.record.ended_at
    listed = len(ideas) if since >= behaviour.ideas_lag else int(len(ideas) * since / behaviour.ideas_lag)
    return ideas[:listed] if behaviour.ideas_cap is None else ideas[: min(listed, behaviour.ideas_cap)]


def _show(world: World, seen: Seen[IdeaSearch]) -> Document:
    search = seen.record
    return show(
        "ContentIdeaSearch",
        search,
        nb_content_ideas=len(search.ideas) if search.status == jobs.SUCCESS else None,
        status=world.shown_status(search.id, search.status),
    )
