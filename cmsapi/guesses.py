"""Answer a name that does not exist with what does: people carry names over from other libraries."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])

_NO_CANCEL = "job.detach() to stop the polls; the service cannot stop a job, and its credit is spent"

# By the name of the package or the class, and the guess. Python itself suggests names that are spelt alike.
MEANT: Mapping[str, Mapping[str, str]] = {
    "cmsapi": {
        "AsyncClient": "Client, which is async",
        "SyncClient": "cmsapi.blocking.Client, after import cmsapi.blocking",
        "BlockingClient": "cmsapi.blocking.Client, after import cmsapi.blocking",
        "blocking": "import cmsapi.blocking",
        "AuthenticationError": "UnauthorizedError",
        "PermissionDeniedError": "ForbiddenError",
        "UnprocessableEntityError": "ValidationError",
        "RateLimitError": "RateLimitedError",
        "APIStatusError": "APIError",
        "HTTPStatusError": "APIError",
        "APIConnectionError": "TransportError",
        "APITimeoutError": "TransportError for a request, DeadlineError for a call, JobWaitTimeoutError for a job",
        "Timeout": "Timeouts",
        "Limits": "RateLimits",
        "Sandbox": "cmsapi.sandbox.Sandbox",
    },
    "Client": {
        "close": "await client.aclose(), or async with",
        "articles": "client.contents; contents.generate(…) writes an article",
        "credits": "(await client.me()).organization.credits for what is left, client.credit_usages for what was spent",
        "usage": "client.credit_usages",
        "ideas": "client.content_ideas",
        "knowledge": "client.knowledge_documents",
        "analyze": "client.keywords.analyze(keyword_id)",
        "get": "client.request('GET', path)",
        "post": "client.request('POST', path, json=…)",
        "limits": "client.rate_limit",
    },
    "Jobs": {
        "list": "client.jobs.journal()",
        "get": "client.jobs.attach(token)",
        "retrieve": "client.jobs.attach(token)",
        "poll": "client.jobs.status(token)",
        "wait": "await job, or client.jobs.run(…), which launches a job and waits for it",
        "cancel": _NO_CANCEL,
    },
    "Job": {
        "cancel": _NO_CANCEL,
        "cancelled": "job.status.phase",
        "confirm": "review = await job, then await review.confirm()",
        "poll": "await job.refresh()",
    },
    "Page": {"data": "page.items, or the page itself", "next_page": "async for over the list, which reads all pages"},
    "Paginator": {
        "data": "(await client.….list(…)).items",
        "first": "(await client.….list(…, limit=1))[0]",
        "all": "[item async for item in client.….list(…)]",
        "total": "(await client.….list(…)).total",
    },
    "blocking.Client": {
        "aclose": "client.close(), or with",
        "credits": "client.me().organization.credits for what is left, client.credit_usages for what was spent",
    },
    "blocking.Jobs": {
        "run": "client.keywords.analyze(keyword_id).wait()",
        "wait": "job.wait()",
        "get": "client.jobs.attach(token)",
        "list": "client.jobs.journal()",
        "cancel": _NO_CANCEL,
    },
    "blocking.Job": {"get": "job.wait()", "cancel": _NO_CANCEL, "poll": "job.refresh()"},
    "blocking.Paginator": {
        "all": "list(client.….list(…))",
        "total": "client.….list(…).first_page().total",
        "first": "client.….list(…, limit=1).first_page()[0]",
    },
    "KnowledgeDocuments": {"upload": "create(workspace_id, name, text=Path(…).read_text())"},
    "ContentIdeaSearches": {"create": "search(workspace_id, keyword)", "generate": "search(workspace_id, keyword)"},
}

_RETRY = "retry=cmsapi.RetryPolicy(max_attempts=…)"
_TIMEOUTS = "timeouts=cmsapi.Timeouts(request=…)"
_IN_FLIGHT = "in_flight=…; left out, as many jobs run as fit into the request limit"

#: What guessed parameters of a client are called here.
CLIENT_PARAMETERS: Mapping[str, str] = {
    "max_retries": _RETRY,
    "retries": _RETRY,
    "timeout": _TIMEOUTS,
    "request_timeout": _TIMEOUTS,
    "key": "api_key=…",
    "token": "api_key=…",
    "url": "base_url=…",
    "endpoint": "base_url=…",
    "host": "base_url=…",
    "rate_limit": "limits=cmsapi.RateLimits(per_hour=…)",
    "default_headers": "headers=…",
    "http_client": "session=… or transport=…",
    "proxies": "proxy=…",
    "verify": "ssl=…, a context of the module ssl",
}
#: The same of `client.jobs.map`.
MAP_PARAMETERS: Mapping[str, str] = {
    **dict.fromkeys(("concurrency", "max_concurrency", "max_workers", "workers", "limit", "batch_size"), _IN_FLIGHT),
    "return_exceptions": 'errors="collect", which is the default',
    "budget": "max_credits=…",
    "on_progress": "outcomes.follow(), which gives each change of outcomes.progress",
}
#: The same of `job.result`.
RESULT_PARAMETERS: Mapping[str, str] = {"timeout": "wait(timeout=…)"}


def guided(meant: Mapping[str, str]) -> Callable[[F], F]:
    """Return a decorator of a function that names the right parameter where a guessed one is given.

    Args:
        meant: What to write instead, by guessed name.
    """

    def decorate(function: F) -> F:
        @functools.wraps(function)
        def call(*arguments: Any, **named: Any) -> Any:
            for name in named.keys() & meant.keys():
                raise TypeError(
                    f"{function.__qualname__}() got an unexpected keyword argument {name!r}. Use {meant[name]}."
                )
            return function(*arguments, **named)

        return cast("F", call)

    return decorate


class Hinting:
    """Name what exists when an attribute does not."""

    __slots__ = ()

    if not TYPE_CHECKING:  # type checkers shall refuse unknown names

        def __getattr__(self, name: str) -> NoReturn:
            raise AttributeError(
                f"{type(self).__name__!r} object has no attribute {name!r}{_advice(self, name)}", name=name, obj=self
            )


def meant(owner: str, name: str) -> str:
    """Return what a guess is called here, after a full stop; empty when the guess is not a common one."""
    right = MEANT.get(owner, {}).get(name)
    return "" if right is None else f". Use {right}."


def _advice(owner: object, name: str) -> str:
    # Python, copies and notebooks ask for names of their own.
    if name.startswith("_"):
        return ""
    offered = [each for each in dir(owner) if not each.startswith("_")]
    kind = type(owner).__name__
    of = f"blocking.{kind}" if type(owner).__module__.startswith("cmsapi.blocking.") else kind
    return meant(of, name) or f". It has {', '.join(offered)}."
