"""What the callers of a run do: every operation, every kind of job, alone and at the same time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import cmsapi
from cmsapi import errors
from tests.long.chaos.record import Call, Record

# A job is waited for so long; its storm is over after minutes, and doubt about its end after half an hour.
PATIENCE = 4 * 3600.0
# A refused key ends a wait and not the job; the next one begins so many seconds later.
PAUSE = 60.0

Act = Callable[[Record], Awaitable[Any]]


async def read_one(run: Record) -> None:
    """Read some single documents."""
    client, box, pick = run.client, run.box, run.rng.choice
    ways: Sequence[tuple[str, Callable[[str], Awaitable[Any]], Sequence[str]]] = (
        ("get_workspace", client.workspaces.get, [box.workspace_id]),
        ("get_content", client.contents.get, box.content_ids),
        ("get_page", client.pages.get, box.page_ids),
        ("get_keyword", client.keywords.get, box.analyzed_keyword_ids),
        ("get_prompt", client.prompts.get, box.prompt_ids),
        ("get_brand_voice", client.brand_voices.get, box.brand_voice_ids),
        ("get_knowledge_document", client.knowledge_documents.get, box.knowledge_document_ids),
    )
    for operation, get, known in run.rng.sample(ways, 3):
        target = pick(known)
        await run.make(operation, lambda get=get, target=target: get(target), target)  # type: ignore[misc]


async def read_lists(run: Record) -> None:
    """Read some lists, and whose key it is."""
    client, box = run.client, run.box
    lists: Sequence[tuple[str, Callable[[], Awaitable[Any]]]] = (
        ("get_me", client.me),
        ("list_users", lambda: client.users.list()),
        ("list_workspaces", lambda: client.workspaces.list()),
        ("list_workspace_members", lambda: client.workspaces.members(box.workspace_id)),
        ("list_content_statuses", lambda: client.workspaces.content_statuses(box.workspace_id)),
        ("list_folders", lambda: client.folders.list(box.workspace_id)),
        ("list_contents", lambda: client.contents.list(box.workspace_id)),
        ("list_pages", lambda: client.pages.list(box.workspace_id)),
        ("list_keywords", lambda: client.keywords.list(box.page_ids[0])),
        ("list_prompts", lambda: client.prompts.list(box.analyzed_keyword_ids[0])),
        ("list_brand_voices", lambda: client.brand_voices.list(box.workspace_id)),
        ("list_knowledge_documents", lambda: client.knowledge_documents.list(box.workspace_id)),
        ("list_credit_usages", lambda: client.credit_usages.list("analysis")),
    )
    for operation, ask in run.rng.sample(lists, 4):
        await run.make(operation, ask)


async def organise(run: Record) -> None:
    """Make a folder and delete it."""
    client, workspace = run.client, run.box.workspace_id
    folder = (await run.make("create_folder", lambda: client.folders.create(workspace, "New"), workspace)).result
    if folder is not None:
        await run.make("delete_folder", lambda: client.folders.delete(folder.id), folder.id)


async def write(run: Record) -> None:
    """Make a draft, change it, publish it and delete it."""
    client, workspace = run.client, run.box.workspace_id
    content = (await run.make("create_content", lambda: client.contents.create(workspace, "A draft"), workspace)).result
    if content is None:
        return
    # Reading, saving, and reading again after a conflict that may be with itself; five times.
    change: cmsapi.ContentChanges = {"title": "A better draft"}
    await run.make(
        "update_content", lambda: client.contents.edit(content.id, lambda _: change), content.id, requests=16
    )
    await run.make("publish_content", lambda: client.contents.publish(content.id), content.id)
    await run.make("delete_content", lambda: client.contents.delete(content.id), content.id)


async def track(run: Record) -> None:
    """Import a page with a keyword and a prompt, score, crawl and delete."""
    client, box = run.client, run.box
    address = f"https://northwind.example/{run.rng.random()}"
    page = (
        await run.make("import_page", lambda: client.pages.create(box.workspace_id, address), box.workspace_id)
    ).result
    scored = run.rng.choice(box.analyzed_keyword_ids)
    await run.make("score_keyword", lambda: client.keywords.score(scored, title="A", html="<p>B</p>"), scored)
    prompt = run.rng.choice(box.prompt_ids)
    await run.make("score_prompt", lambda: client.prompts.score(prompt, title="A", html="<p>B</p>"), prompt)
    if page is None:
        return
    await run.make("crawl_page", lambda: client.pages.crawl(page.id), page.id)
    keyword = (await run.make("add_keyword", lambda: client.keywords.create(page.id, "new shoes"), page.id)).result
    if keyword is not None:
        await run.make("add_prompt", lambda: client.prompts.create(keyword.id, "Which shoes?"), keyword.id)
    await run.make("delete_page", lambda: client.pages.delete(page.id), page.id)


async def analyze_keyword(run: Record) -> None:
    """Launch an analysis, sometimes of a keyword that has one, sometimes twice at the same moment, and wait for it."""
    target = run.rng.choice((*run.box.keyword_ids, *run.box.analyzed_keyword_ids))
    await asyncio.gather(
        *(
            _launch(run, "analyze_keyword", lambda: run.client.keywords.analyze(target), target)
            for _ in range(run.rng.choice((1, 1, 2)))
        )
    )


async def analyze_prompt(run: Record) -> None:
    """Launch the analysis of a prompt and wait for it."""
    target = run.rng.choice(run.box.prompt_ids)
    await _launch(run, "analyze_prompt", lambda: run.client.prompts.analyze(target), target)


async def search(run: Record) -> None:
    """Launch a search of ideas and wait for them."""
    workspace = run.box.workspace_id
    keyword = run.rng.choice(("tents", "Tents", " Été Tents ", "boots", "Boots and more " * 20))
    ask = lambda: run.client.content_ideas.search(workspace, keyword)  # noqa: E731
    await _launch(run, "start_content_idea_search", ask, workspace)


async def generate(run: Record) -> None:
    """Launch a generation, or two one after the other, and decide on each by a function or by hand."""
    target = run.rng.choice(run.box.content_ids)
    for _ in range(run.rng.choice((1, 1, 2))):
        await _generate(run, target)


async def _generate(run: Record, target: str) -> None:
    wish = run.rng.choice(("confirm", "cancel", "leave"))
    hook = (lambda _: wish) if run.rng.random() < 0.5 else None
    ask = lambda: run.client.contents.generate(target, on_review=hook)  # type: ignore[arg-type]  # noqa: E731
    review = await _launch(run, "generate_content", ask, target)
    if hook is None and isinstance(review, cmsapi.GenerationReview) and review.decision is None and wish != "leave":
        # Reading, deciding and reading again, three times; after that the content.
        await run.make(f"{wish}_generation", getattr(review, wish), target, requests=9)


async def feed(run: Record) -> None:
    """Make a knowledge document and wait until it is read."""
    client, workspace = run.client, run.box.workspace_id
    ask = lambda: client.knowledge_documents.create(workspace, "Tone", text="Plain")  # noqa: E731
    document = (await run.make("create_knowledge_document", ask, workspace)).result
    if document is not None and (job := _watched(run, document.id)) is not None:
        await _wait(run, job)


async def fan_out(run: Record) -> None:
    """Analyse several keywords at once."""
    targets = run.rng.sample((*run.box.keyword_ids, *run.box.analyzed_keyword_ids), 4)
    call = Call("map", None, asyncio.get_running_loop().time(), PATIENCE, width=len(targets))

    async def take() -> None:
        async with run.client.jobs.map(run.client.keywords.analyze, targets) as fan:
            async for outcome in fan:
                call.taken.append(outcome)

    await run.see(call, take)


ACTS: Sequence[Act] = (
    read_one,
    read_lists,
    organise,
    write,
    track,
    analyze_keyword,
    analyze_prompt,
    search,
    generate,
    feed,
    fan_out,
)


async def _launch(run: Record, operation: str, ask: Callable[[], Awaitable[Any]], target: str) -> Any:
    # A launch that joins first reads whether the job to join still runs. One whose answer is lost waits until it can no
    # longer arrive, and then takes up to seven reads to find out.
    patience = (3 + 7) * run.deadline + run.settle
    job = (await run.make(operation, ask, target, patience=patience)).result
    return None if job is None else await _wait(run, job)


def _watched(run: Record, target: str) -> Any:
    try:
        return run.client.jobs.watch("knowledge_document", target)
    except errors.ClientClosedError:
        return None


async def _wait(run: Record, job: cmsapi.Job[Any]) -> Any:
    while True:
        began = asyncio.get_running_loop().time()
        call = Call(f"wait {job.kind.value}", job.target, began, PATIENCE, job=job)
        await run.see(call, lambda: job.wait(PATIENCE))
        # A key that is refused to the one who decides on an article does end the job.
        if job.done() or not isinstance(call.error, errors.UnauthorizedError):
            return call.result
        await asyncio.sleep(PAUSE / run.hurry)
