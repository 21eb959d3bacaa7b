"""Generation of contents: launch, review, decision (specification 3 and 4.4).

The status ``queued`` becomes ``review`` or ``failed`` over time. Confirming turns ``review`` into ``applied``;
cancelling turns it into ``discarded``. While the latest generation is queued or in review, no other can be launched.
"""

from __future__ import annotations

from cmsapi.sandbox import documents, drafts
from cmsapi.sandbox.call import Call
from cmsapi.sandbox.documents import Document
from cmsapi.sandbox.refusal import Refusal
from cmsapi.sandbox.store import Record


def generate_content(call: Call) -> Document:
    """Launch a generation; a keyword of the content's page must have been analyzed (specification 4.4, rule 1)."""
    content, settings, store = call.record, call.body["settings"], call.store
    keyword = next((each for each in store.find("keywords", pageId=content["pageId"]) if each["lastAnalyzedAt"]), None)
    if keyword is None:
        raise Refusal(409, "No keyword of the content's page has a completed analysis.")
    if "brandVoiceId" in settings and settings["brandVoiceId"] not in store.tables["voices"]:
        raise Refusal(422, "'settings.brandVoiceId' names no brand voice.")
    last = content["generationId"] and store.tables["generations"][content["generationId"]]
    if last and last["status"] in {"queued", "review"}:
        raise Refusal(409, f"A generation is {last['status']}.")
    call.jobs.check("generation")
    generation = store.add(
        "generations",
        workspaceId=content["workspaceId"],
        type="optimize_content",
        keyword=keyword["keyword"],
        factChecks=settings.get("factCheckingEnabled", False),
    )
    content["generationId"] = generation["id"]
    call.jobs.launch("generation", generation, user=call.user, target=content["id"], keyword=keyword["keyword"])
    return documents.generation(call.store, generation)


def get_generation(call: Call) -> Document:
    """Return the latest generation of a content item; refuse with 404 if there is none."""
    return documents.generation(call.store, _current(call))


def confirm_generation(call: Call) -> Document:
    """Replace the draft's body with the generated one; refuse with 409 unless the generation is in review."""
    content, generation = call.record, _decide(call, "applied")
    html = drafts.article(content["title"], generation["keyword"], fact_checks=generation["factChecks"])
    drafts.write(call.store, content, html, call.user["id"])
    drafts.touch(call.store, content)
    return documents.generation(call.store, generation)


def cancel_generation(call: Call) -> Document:
    """Discard the generated body; refuse with 409 unless the generation is in review."""
    return documents.generation(call.store, _decide(call, "discarded"))


def _current(call: Call) -> Record:
    identifier = call.record["generationId"]
    if identifier is None:
        raise Refusal(404, "The content has no generation.")
    return call.store.tables["generations"][identifier]


def _decide(call: Call, status: str) -> Record:
    generation = _current(call)
    if generation["status"] != "review":
        raise Refusal(409, f"The generation is {generation['status']}, not in review.")
    generation["status"] = status
    return generation
