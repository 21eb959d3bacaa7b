"""The initial data of a sandbox: an organisation with its workspace, and a second, foreign organisation."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from cmsapi.sandbox.randomness.seeded import seeded_random
from cmsapi.sandbox.texts import articles
from cmsapi.sandbox.world import drafts
from cmsapi.sandbox.world.billing import ANALYSIS, Purchase
from cmsapi.sandbox.world.clock import FIRST_MOMENT
from cmsapi.sandbox.world.jobs import SUCCESS
from cmsapi.sandbox.world.records import (
    BrandVoice,
    Content,
    ContentStatus,
    Folder,
    Keyword,
    KnowledgeDocument,
    Organization,
    Page,
    Prompt,
    User,
    Workspace,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cmsapi.sandbox.world.world import World

DAY = 86_400.0
KEYWORDS_PER_PAGE = 10
_PEOPLE = (
    ("Ada", "Moreau", "Head of Content", "Admin", "owner"),
    ("Ben", "Okafor", "Writer", "Member", "editor"),
    ("Chiara", "Lund", "SEO Lead", "Admin", "manager"),
    ("Dev", "Patel", "Writer", "Member", "editor"),
    ("Elif", "Novak", "Designer", "Member", "viewer"),
)
_STATUSES = (
    ("To do", "#8a8f98"),
    ("In progress", "#2f6fde"),
    ("In review", "#d98e04"),
    ("Published", "#2e9e5b"),
)
_FOLDERS = (("Guides", None), ("Reviews", None), ("Shoes", 0), ("Trail", 2), ("Archive", None))
_VOICES = (
    ("Plain and warm", "Northwind", "people who run for fun", "short sentences"),
    ("Expert", "Northwind", "people who race", None),
    ("House style", None, None, None),
)
_MANNERS = (
    "best",
    "cheap",
    "light",
    "waterproof",
    "vegan",
    "wide",
    "road",
    "trail",
    "winter",
    "minimal",
    "used",
    "new",
)
_GOODS = (
    "running shoes",
    "backpacks",
    "headlamps",
    "rain jackets",
    "tents",
    "socks",
    "stoves",
    "maps",
    "poles",
    "hats",
)
_AUDIENCES = ("", "for beginners", "for women", "for men", "for kids", "for travel", "for work", "on a budget")


def populate(world: World, *, keywords: int, contents: int) -> Workspace:
    """Add the organisation of the API keys to a new world, and return its workspace.

    Args:
        world: The new world.
        keywords: Number of keywords that were never analysed.
        contents: Number of contents, each on a page of its own with an analysed keyword.
    """
    workspace, users = _company(world, "Northwind", _PEOPLE)
    statuses = _statuses(world, workspace)
    folders = _folders(world, workspace)
    _brand_voices(world, workspace)
    _knowledge(world, workspace)
    phrases = _phrases()
    # The given balances are those of the present, so the credits of past analyses are added first.
    world.bookkeeper.balances.add(ANALYSIS, max(1, contents))
    ready = [_analyzed_page(world, workspace, users[0], next(phrases)) for _ in range(max(1, contents))]
    for keyword in ready:
        _prompt(world, keyword)
    for index, keyword in enumerate(ready[:contents]):
        _content(world, keyword, users, statuses, folders, index)
    for first in range(0, keywords, KEYWORDS_PER_PAGE):
        page = _page(world, workspace)
        for _ in range(min(KEYWORDS_PER_PAGE, keywords - first)):
            _keyword(world, page, next(phrases))
    return workspace


def populate_foreign(world: World) -> Workspace:
    """Add a second organisation, whose data no key may see, and return its workspace."""
    workspace, _ = _company(world, "Southgale", (("Finn", "Ito", "Owner", "Admin", "owner"),))
    _statuses(world, workspace)
    _folders(world, workspace)
    _content(world, _analyzed_page(world, workspace, None, "private plans"), [], [], [], 0)
    return workspace


def _phrases() -> Iterator[str]:
    """Yield search terms without end and without duplicates."""
    number = 0
    while True:
        number += 1
        for audience, good, manner in itertools.product(_AUDIENCES, _GOODS, _MANNERS):
            phrase = f"{manner} {good} {audience}".strip()
            yield phrase if number == 1 else f"{phrase} {number}"


def _company(
    world: World, name: str, people: tuple[tuple[str, str, str, str, str], ...]
) -> tuple[Workspace, list[User]]:
    store, founded = world.store, FIRST_MOMENT - 400 * DAY
    organization = Organization(store.new_id("org"), name, founded, name)
    users = [
        User(
            id=store.new_id("usr"),
            first_name=first,
            last_name=last,
            email=f"{first}.{last}@{name}.example".lower(),
            job_title=title,
            role=role,
            workspace_role=workspace_role,
            organization=organization,
            created_at=founded + index * DAY,
            profile_image_url=f"https://{name}.example/people/{first}.png".lower(),
        )
        for index, (first, last, title, role, workspace_role) in enumerate(people)
    ]
    store.users.update((user.id, user) for user in users)
    workspace = Workspace(
        id=store.new_id("wsp"),
        name=f"{name} shop",
        website_url=f"https://{name}.example".lower(),
        country_code="US",
        country_name="United States",
        language_code="en",
        organization=organization,
        created_at=founded + 10 * DAY,
        member_ids=[user.id for user in users],
    )
    store.workspaces[workspace.id] = workspace
    return workspace, users


def _statuses(world: World, workspace: Workspace) -> list[ContentStatus]:
    store, last = world.store, len(_STATUSES) - 1
    statuses = [
        ContentStatus(store.new_id("cst"), workspace.id, label, color, position, position == last)
        for position, (label, color) in enumerate(_STATUSES)
    ]
    store.content_statuses.update((status.id, status) for status in statuses)
    return statuses


def _folders(world: World, workspace: Workspace) -> list[Folder]:
    folders: list[Folder] = []
    for index, (name, parent) in enumerate(_FOLDERS):
        parent_id = None if parent is None else folders[parent].id
        created = FIRST_MOMENT - (300 - index) * DAY
        folders.append(Folder(world.store.new_id("fld"), workspace.id, name, parent_id, created))
    world.store.folders.update((folder.id, folder) for folder in folders)
    return folders


def _brand_voices(world: World, workspace: Workspace) -> None:
    for index, described in enumerate(_VOICES):
        created = FIRST_MOMENT - (200 - index) * DAY
        voice = BrandVoice(world.store.new_id("bvc"), workspace.id, *described, created)
        world.store.brand_voices[voice.id] = voice


def _knowledge(world: World, workspace: Workspace) -> None:
    for index, (name, type_) in enumerate((("Tone", "text"), ("About us", "url"), ("Size chart", "file"))):
        document = KnowledgeDocument(
            id=world.store.new_id("kdo"),
            workspace_id=workspace.id,
            name=name,
            type=type_,
            created_at=FIRST_MOMENT - (100 - index) * DAY,
            status=SUCCESS,
            summary=f"What to know about {name.lower()}.",
            url=f"{workspace.website_url}/about" if type_ == "url" else None,
        )
        world.store.knowledge_documents[document.id] = document


def _page(world: World, workspace: Workspace, slug: str = "") -> Page:
    number = len(world.store.pages) + 1
    url = f"{workspace.website_url}/{slug.replace(' ', '-') or f'page-{number}'}"
    page = world.add_page(workspace.id, url, FIRST_MOMENT - 90 * DAY + number)
    page.last_status_code = 200
    return page


def _keyword(world: World, page: Page, phrase: str) -> Keyword:
    return world.add_keyword(page, phrase, FIRST_MOMENT - 80 * DAY + len(world.store.keywords))


def _analyzed_page(world: World, workspace: Workspace, buyer: User | None, phrase: str) -> Keyword:
    keyword = _keyword(world, _page(world, workspace, phrase), phrase)
    analyzed_at = keyword.created_at + DAY
    keyword.analysis_status, keyword.last_analyzed_at, keyword.analyzed = SUCCESS, analyzed_at, True
    if buyer is not None:
        world.bookkeeper.charge(Purchase(ANALYSIS, 1, buyer, workspace, phrase), analyzed_at)
    return keyword


def _prompt(world: World, keyword: Keyword) -> None:
    store = world.store
    text = f"What are the {keyword.keyword}?"
    prompt = Prompt(store.new_id("prm"), keyword.workspace_id, keyword.id, text, keyword.created_at + 2 * DAY)
    store.prompts[prompt.id] = prompt


def _content(
    world: World,
    keyword: Keyword,
    users: list[User],
    statuses: list[ContentStatus],
    folders: list[Folder],
    index: int,
) -> None:
    store, id_ = world.store, world.store.new_id("cnt")
    created = FIRST_MOMENT - 60 * DAY + len(store.contents)
    content = Content(id_, keyword.workspace_id, keyword.page_id, keyword.keyword.capitalize(), created, created)
    if users:
        author = users[index % len(users)]
        content.assigned_to_id = author.id
        content.folder_id = (folders[index % len(folders)].id, None)[index % 4 == 3]
        content.content_status_id = statuses[index % (len(statuses) - 1)].id
        content.meta_description = f"All about {keyword.keyword}."
        body = articles.write_article(
            seeded_random(world.seed, "body", id_), keyword.keyword, content.title, fact_checks=False
        )
        # Every other draft is empty.
        drafts.write_body(world, content, body if index % 2 else "", author.id, created + DAY)
    content.version = 1
    store.contents[id_] = content
