"""Reports: the score of a text against the recommendations for a keyword or a prompt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from cmsapi.sandbox.randomness.seeded import seeded_random
from cmsapi.sandbox.texts import articles
from cmsapi.sandbox.world.refusal import Refusal

if TYPE_CHECKING:
    from cmsapi.sandbox.messages.call import Call
    from cmsapi.sandbox.messages.resources import Document
    from cmsapi.sandbox.world.world import World


class Text(NamedTuple):
    """The text that is scored."""

    title: str
    html: str


def text_of(call: Call, workspace_id: str) -> Text:
    """Return the text that a request names: a content, or a title with HTML.

    Raises:
        Refusal: The request names both, neither, or a content that does not exist.
    """
    body = call.body
    if "contentId" in body:
        for field in ("title", "html"):
            if field in body:
                raise Refusal(422, f"{field}: must be absent beside contentId")
        content = call.reference(call.store.contents, workspace_id, body["contentId"], "contentId")
        return Text(content.title, content.html) if content else Text("", "")
    for field in ("title", "html"):
        if field not in body:
            raise Refusal(422, f"{field}: is required without contentId")
    return Text(body["title"], body["html"])


def report(world: World, id_: str, phrase: str, text: Text) -> Document:
    """Return the report on a text; its sources and brands depend on the seed and the target."""
    rng = seeded_random(world.seed, "report", id_)
    sources = [
        {
            "category": rng.choice(("editorial", "shop", "forum")),
            "domain": f"{name}.example",
            "organicPosition": position if rng.random() < 0.8 else None,
            "position": position,
            "title": f"{phrase[:80]}: what {name} says",
            "type": "citation",
            "url": f"https://{name}.example/{position}",
        }
        for position, name in enumerate(rng.sample(articles.PUBLISHERS, 4), start=1)
    ]
    brands = [
        {"category": "competitor", "count": rng.randint(1, 9), "name": name.title()}
        for name in rng.sample(articles.PUBLISHERS, 3)
    ]
    recommendations: Any = articles.recommendations(phrase, text.html)
    if world.behaviour.recommendations == "by_term":
        recommendations = {each.pop("term"): each for each in recommendations}
    return {
        "score": articles.score(phrase, text.title, text.html) / 100,
        "recommendations": recommendations,
        "sources": sources,
        "brands": brands,
        "preview": f"Most answers to {phrase[:120]} name {brands[0]['name']}." if rng.random() < 0.8 else None,
    }
