"""The initial data of a sandbox: an organization with two workspaces, the second visible only to the administrator."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import count, islice, product
from typing import Any

from cmsapi.sandbox import drafts
from cmsapi.sandbox.clock import iso
from cmsapi.sandbox.store import NEVER_ANALYZED, Record, Store

AGE = 30 * 86_400.0  # age of the first record in seconds
KEYWORDS_PER_PAGE = 10  # keywords per page, at most, that were never analyzed

PEOPLE = [
    ("Ada", "Moreau", "Head of Content", "Admin", "owner"),
    ("Ben", "Okafor", "Writer", "Member", "editor"),
    ("Chiara", "Lund", "Editor", "Member", "editor"),
]
STATUSES = {"To do": "#8a8f98", "In progress": "#2f6fde", "In review": "#d98e04", "Published": "#2e9e5b"}
KINDS = ["best", "cheap", "light", "waterproof", "vegan", "wide", "road", "trail", "winter", "used"]
GOODS = ["running shoes", "backpacks", "headlamps", "rain jackets", "tents", "socks", "stoves", "maps", "poles", "hats"]


def populate(store: Store, keywords: int | Sequence[str], contents: int) -> Mapping[str, tuple[str, ...]]:
    """Insert the initial data into ``store``, and return the new identifiers.

    Args:
        store: Empty store.
        keywords: Number of keywords that were never analyzed, or their texts.
        contents: Number of contents, each on a page with an analyzed keyword. At least one such page is created.

    Returns:
        Identifiers by table, in order of creation. Records inside the second workspace are left out. The first user is
        the administrator; the others are members.
    """
    phrases = _phrases()
    organization = _add(store, "organizations", name="Northwind", brandName="Northwind", brandImageUrl=None)["id"]
    workspace = _workspace(store, organization, "Northwind shop", "https://www.northwind.example")
    private = _workspace(store, organization, "Northwind labs", "https://labs.northwind.example")
    admin, *_ = [_user(store, organization, workspace, person) for person in PEOPLE]
    admin["workspaceIds"].add(private)
    _furnish(store, workspace)
    for number in range(max(1, contents)):
        keyword = _analyzed_keyword(store, workspace, next(phrases))
        text = f"Where to buy {keyword['keyword']}?"
        _add(store, "prompts", workspaceId=workspace, keywordId=keyword["id"], prompt=text, **NEVER_ANALYZED)
        if number < contents:
            _content(store, keyword, number)
    texts = list(islice(phrases, keywords)) if isinstance(keywords, int) else keywords
    for first in range(0, len(texts), KEYWORDS_PER_PAGE):
        page = _page(store, workspace, texts[first])
        for text in texts[first : first + KEYWORDS_PER_PAGE]:
            _keyword(store, page, text)
    identifiers = {table: tuple(records) for table, records in store.tables.items()}
    _furnish(store, private)
    _content(store, _analyzed_keyword(store, private, "private plans"), 1)
    return identifiers


def _add(store: Store, table: str, **fields: Any) -> Record:
    number = sum(map(len, store.tables.values()))
    return store.add(table, createdAt=iso(store.clock.start - AGE + number), **fields)


def _phrases() -> Iterator[str]:
    for number in count(1):
        suffix = f" {number}" if number > 1 else ""
        yield from (f"{kind} {goods}{suffix}" for goods, kind in product(GOODS, KINDS))


def _workspace(store: Store, organization: str, name: str, url: str) -> str:
    country = {"countryCode": "GB", "countryName": "United Kingdom", "languageCode": "en"}
    workspace = _add(store, "workspaces", name=name, websiteUrl=url, organizationId=organization, **country)
    workspace["workspaceId"] = workspace["id"]
    return str(workspace["id"])


def _user(store: Store, organization: str, workspace: str, person: Sequence[str]) -> Record:
    first, last, title, role, workspace_role = person
    return _add(
        store,
        "users",
        firstName=first,
        lastName=last,
        email=f"{first.lower()}@northwind.example",
        profileImageUrl=f"https://www.northwind.example/{first.lower()}.png",
        jobTitle=title,
        languageCode="en",
        role=role,
        workspaceRole=workspace_role,
        organizationId=organization,
        workspaceIds={workspace},
    )


def _furnish(store: Store, workspace: str) -> None:
    for position, (label, color) in enumerate(STATUSES.items()):
        state = {"label": label, "color": color, "position": position, "isReadOnly": label == "Published"}
        _add(store, "statuses", workspaceId=workspace, **state)
    guides = _add(store, "folders", workspaceId=workspace, name="Guides", parentFolderId=None)["id"]
    _add(store, "folders", workspaceId=workspace, name="Shoes", parentFolderId=guides)
    _add(store, "folders", workspaceId=workspace, name="Reviews", parentFolderId=None)
    voice = {"workspaceId": workspace, "enabled": True, "additionalInformation": None}
    _add(store, "voices", name="Plain", brandName="Northwind", targetAudience="runners", status="success", **voice)
    _add(store, "voices", name="House style", brandName=None, targetAudience=None, status=None, **voice)
    source = {"workspaceId": workspace, "status": "success", "summary": "What we sell and to whom."}
    _add(store, "knowledge", name="Catalogue", type="text", url=None, **source)
    _add(store, "knowledge", name="About us", type="url", url="https://www.northwind.example/about", **source)


def _page(store: Store, workspace: str, text: str) -> Record:
    site = store.tables["workspaces"][workspace]["websiteUrl"]
    return _add(store, "pages", workspaceId=workspace, url=f"{site}/{text.replace(' ', '-')}", lastStatusCode=200)


def _keyword(store: Store, page: Record, text: str) -> Record:
    place = {"countryCode": "GB", "languageCode": "en", "workspaceId": page["workspaceId"], "pageId": page["id"]}
    return _add(store, "keywords", keyword=text, searchVolume=store.search_volume(), **place, **NEVER_ANALYZED)


def _analyzed_keyword(store: Store, workspace: str, text: str) -> Record:
    keyword = _keyword(store, _page(store, workspace, text), text)
    keyword.update(analysisStatus="success", lastAnalyzedAt=keyword["createdAt"])
    return keyword


def _content(store: Store, keyword: Record, number: int) -> None:
    workspace, title = keyword["workspaceId"], keyword["keyword"].capitalize()
    users = [user["id"] for user in store.tables["users"].values() if workspace in user["workspaceIds"]]
    statuses, folders = (
        [each["id"] for each in store.find(table, workspaceId=workspace)] for table in ("statuses", "folders")
    )
    content = drafts.add(
        store,
        workspaceId=workspace,
        pageId=keyword["pageId"],
        title=title,
        assignedToId=users[number % len(users)],
        contentStatusId=statuses[number % len(statuses)],
        folderId=folders[number % len(folders)] if number % 2 else None,
    )
    content.update(createdAt=keyword["createdAt"], updatedAt=keyword["createdAt"])
    parts = number % 4  # every fourth content has no body yet
    drafts.write(store, content, drafts.article(title, keyword["keyword"], fact_checks=True) * parts, users[0])
