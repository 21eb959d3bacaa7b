"""The same documents in other libraries' models.

Each library makes its classes from one table, with the options that its documentation gives for what ours do as well:
camel case on the wire, aware datetimes, read-only instances, and unknown keys kept where it can. Words of vocabularies
are plain strings in all of them. Only a generated client brings classes of its own.
"""

from __future__ import annotations

import dataclasses
import importlib
import importlib.util
import types
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

import attrs
import cattrs
from cattrs.gen import make_dict_structure_fn, override

from benchmarks.generated import HTTPX

Read = Callable[[bytes], Any]
Table = Mapping[str, Mapping[str, Any]]

# Names of classes stand for those above them; a content may have a null in their place.
_TABLE: Table = {
    "UserRef": {"id": str, "first_name": str, "last_name": str},
    "Assignee": {
        "id": str,
        "first_name": str,
        "last_name": str,
        "email": str,
        "profile_image_url": str | None,
    },
    "ContentStatus": {"id": str, "label": str, "color": str, "position": int, "is_read_only": bool},
    "FolderRef": {"id": str, "name": str | None},
    "PageRef": {"id": str, "url": str | None, "last_status_code": int | None},
    "LastGeneration": {"id": str, "status": str, "type": str},
    "Content": {
        "id": str,
        **dict.fromkeys(("title", "type", "html", "html_sanitized", "meta_description"), str | None),
        **dict.fromkeys(("content_score", "words_count", "version"), int | None),
        **dict.fromkeys(
            ("created_at", "updated_at", "content_updated_at", "published_at", "due_date"), datetime | None
        ),
        "assigned_to": "Assignee",
        "content_status": "ContentStatus",
        "folder": "FolderRef",
        "page": "PageRef",
        "content_updated_by": "UserRef",
        "published_by": "UserRef",
        "is_started": bool | None,
        "last_generation": "LastGeneration",
    },
    "UsageKeyword": {"keyword": str, "country_code": str, "language_code": str},
    "WorkspaceRef": {"id": str, "name": str},
    "CreditUsage": {
        "id": str,
        "created_at": datetime,
        "amount": int,
        "remaining_credits": int,
        "type": str,
        "keyword": "UsageKeyword",
        "user": "UserRef",
        "workspace": "WorkspaceRef",
    },
    "Pagination": {"page": int, "limit": int, "total": int, "has_more": bool},
    "Page": {"data": ["CreditUsage"], "pagination": "Pagination"},
}


def _classes(make: Callable[[str, dict[str, Any]], Any]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for name, fields in _TABLE.items():
        hints: dict[str, Any] = {}
        for field, type_ in fields.items():
            if isinstance(type_, list):
                (item,) = type_
                hints[field] = types.GenericAlias(list, (made[item],))
            elif isinstance(type_, str):
                hints[field] = made[type_] | None if name == "Content" else made[type_]
            else:
                hints[field] = type_
        made[name] = make(name, hints)
    return made


def _wire(name: str) -> str:
    head, *tail = name.split("_")
    return head + "".join(part.capitalize() for part in tail)


def _exactly(value: Any, type_: type) -> Any:
    if type(value) is not type_:
        raise ValueError(f"{value!r} is no {type_.__name__}")
    return value


def _with_cattrs(*, detailed_validation: bool, strict: bool = False) -> dict[str, Read]:
    orjson: Any = importlib.import_module("orjson")
    converter = cattrs.Converter(detailed_validation=detailed_validation)
    converter.register_structure_hook(datetime, lambda text, _: datetime.fromisoformat(text))
    for type_ in (str, int, bool) if strict else ():
        converter.register_structure_hook(type_, _exactly)

    def make(name: str, hints: dict[str, Any]) -> Any:
        fields = {field: attrs.field(type=type_) for field, type_ in hints.items()}
        model = attrs.make_class(name, fields, frozen=True, slots=True, kw_only=True)
        renamed = {field: override(rename=_wire(field)) for field in hints}
        hook: Any = make_dict_structure_fn(
            model,
            converter,
            _cattrs_detailed_validation=detailed_validation,
            **renamed,  # type: ignore[arg-type]
        )
        converter.register_structure_hook(model, hook)
        return model

    made = _classes(make)
    return {
        "content": lambda body: converter.structure(orjson.loads(body), made["Content"]),
        "page": lambda body: converter.structure(orjson.loads(body), made["Page"]),
    }


def _with_pydantic() -> dict[str, Read]:
    pydantic: Any = importlib.import_module("pydantic")
    config = pydantic.ConfigDict(alias_generator=_wire, extra="allow", frozen=True, strict=True)

    def make(name: str, hints: dict[str, Any]) -> Any:
        return pydantic.create_model(name, __config__=config, **{field: (type_, ...) for field, type_ in hints.items()})

    made = _classes(make)
    return {"content": made["Content"].model_validate_json, "page": made["Page"].model_validate_json}


def _with_msgspec() -> dict[str, Read]:
    msgspec: Any = importlib.import_module("msgspec")

    def make(name: str, hints: dict[str, Any]) -> Any:
        return msgspec.defstruct(name, list(hints.items()), rename="camel", frozen=True, kw_only=True)

    made = _classes(make)
    return {
        name: msgspec.json.Decoder(made[type_]).decode for name, type_ in (("content", "Content"), ("page", "Page"))
    }


def _with_adaptix() -> dict[str, Read]:
    adaptix: Any = importlib.import_module("adaptix")
    orjson: Any = importlib.import_module("orjson")
    retort = adaptix.Retort(recipe=[adaptix.name_mapping(name_style=adaptix.NameStyle.CAMEL)])

    def make(name: str, hints: dict[str, Any]) -> Any:
        return dataclasses.make_dataclass(name, list(hints.items()), frozen=True, slots=True, kw_only=True)

    made = _classes(make)
    load = {name: retort.get_loader(made[type_]) for name, type_ in (("content", "Content"), ("page", "Page"))}
    return {
        "content": lambda body: load["content"](orjson.loads(body)),
        "page": lambda body: load["page"](orjson.loads(body)),
    }


def _with_mashumaro() -> dict[str, Read]:
    mixin: Any = importlib.import_module("mashumaro.mixins.orjson").DataClassORJSONMixin
    config: Any = importlib.import_module("mashumaro.config").BaseConfig

    def make(name: str, hints: dict[str, Any]) -> Any:
        aliases = {field: _wire(field) for field in hints}
        namespace = {"Config": type("Config", (config,), {"aliases": aliases})}
        return dataclasses.make_dataclass(
            name, list(hints.items()), bases=(mixin,), namespace=namespace, frozen=True, kw_only=True
        )

    made = _classes(make)
    return {"content": made["Content"].from_json, "page": made["Page"].from_json}


def stainless_models() -> dict[str, Any]:
    """Return classes as Stainless makes them, by name."""
    openai: Any = importlib.import_module("openai")
    pydantic: Any = importlib.import_module("pydantic")

    def make(name: str, hints: dict[str, Any]) -> Any:
        fields = {field: (type_, pydantic.Field(alias=_wire(field))) for field, type_ in hints.items()}
        return pydantic.create_model(name, __base__=openai.BaseModel, **fields)

    return _classes(make)


def _with_stainless() -> dict[str, Read]:
    orjson: Any = importlib.import_module("orjson")
    made = stainless_models()
    return {
        "content": lambda body: made["Content"].construct(**orjson.loads(body)),
        "page": lambda body: made["Page"].construct(**orjson.loads(body)),
    }


def _with_generated() -> dict[str, Read]:
    orjson: Any = importlib.import_module("orjson")
    models: Any = importlib.import_module(f"{HTTPX}.models")
    return {
        "content": lambda body: models.Content.from_dict(orjson.loads(body)),
        "page": lambda body: models.CreditUsageList.from_dict(orjson.loads(body)),
    }


PYDANTIC = "pydantic, strict"

_PEERS: dict[str, tuple[str, Callable[[], dict[str, Read]]]] = {
    "cattrs, hooks as documented": ("cattrs", lambda: _with_cattrs(detailed_validation=True)),
    "the same without detailed validation": ("cattrs", lambda: _with_cattrs(detailed_validation=False)),
    "the same with strict hooks": ("cattrs", lambda: _with_cattrs(detailed_validation=False, strict=True)),
    PYDANTIC: ("pydantic", _with_pydantic),
    "adaptix, unknown keys dropped": ("adaptix", _with_adaptix),
    "mashumaro, unknown keys dropped": ("mashumaro", _with_mashumaro),
    "msgspec, unknown keys dropped": ("msgspec", _with_msgspec),
    "openapi-python-client, from_dict": (HTTPX, _with_generated),
    "openai (Stainless), construct": ("openai", _with_stainless),
}


def missing() -> list[str]:
    """Return the names of those that cannot be measured here."""
    return [name for name, (package, _) in _PEERS.items() if importlib.util.find_spec(package) is None]


def peers() -> dict[str, dict[str, Read]]:
    """Return what reads a content and a page with each library that is there, by name."""
    absent = missing()
    return {name: make() for name, (_, make) in _PEERS.items() if name not in absent}


def written_by_generated(document: dict[str, Any]) -> Callable[[], Any] | None:
    """Return what makes a document of the generated client's content, None when there is no such client."""
    if importlib.util.find_spec(HTTPX) is None:
        return None
    content: Any = importlib.import_module(f"{HTTPX}.models").Content.from_dict(document)
    return lambda: content.to_dict()
