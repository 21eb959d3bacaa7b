"""What calls the server: bare transports, and clients around them."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import aiohttp

import cmsapi
from benchmarks.generated import ASYNCIO, HTTPX

Call = Callable[[], Awaitable[object]]
Open = Callable[[str], contextlib.AbstractAsyncContextManager[Call]]

KEY = "sk_benchmark"
_HEADERS = {"Authorization": f"Bearer {KEY}", "Accept": "application/json"}
ID = "ct_8f14e45fceea167a"
_PATH = f"/v1/contents/{ID}"
# More than is ever used, but counted.
_LIMITS = cmsapi.RateLimits(per_second=1_000_000, per_hour=1_000_000)


def _bare(*, trust_env: bool = False) -> Open:
    @contextlib.asynccontextmanager
    async def opened(url: str) -> AsyncIterator[Call]:
        async with aiohttp.ClientSession(trust_env=trust_env) as session:

            async def call() -> object:
                async with session.get(url + _PATH, headers=_HEADERS) as answer:
                    return await answer.read()

            yield call

    return opened


@contextlib.asynccontextmanager
async def _httpx(url: str) -> AsyncIterator[Call]:
    async with importlib.import_module("httpx").AsyncClient(headers=_HEADERS) as client:

        async def call() -> object:
            return (await client.get(url + _PATH)).content

        yield call


def client_of(url: str) -> cmsapi.Client:
    """Return a client whose limits are counted and never reached."""
    return cmsapi.Client(KEY, base_url=url, limits=_LIMITS)


@contextlib.asynccontextmanager
async def _cmsapi(url: str) -> AsyncIterator[Call]:
    async with client_of(url) as client:

        async def call() -> object:
            return await client.contents.get(ID)

        yield call


@contextlib.asynccontextmanager
async def _pyreqwest(url: str) -> AsyncIterator[Call]:
    async with importlib.import_module("pyreqwest.client").ClientBuilder().build() as client:

        async def call() -> object:
            request = client.get(url + _PATH).headers(_HEADERS).build()
            return await (await request.send()).bytes()

        yield call


def _generated_asyncio(*, trust_env: bool) -> Open:
    @contextlib.asynccontextmanager
    async def opened(url: str) -> AsyncIterator[Call]:
        made: Any = importlib.import_module(ASYNCIO)
        configuration = made.Configuration(host=url, access_token=KEY)
        configuration.client_session_kwargs = {"trust_env": trust_env}
        async with made.ApiClient(configuration) as client:
            interface = made.ContentsApi(client)

            async def call() -> object:
                return await interface.get_content(ID)

            yield call

    return opened


@contextlib.asynccontextmanager
async def _generated_httpx(url: str) -> AsyncIterator[Call]:
    made: Any = importlib.import_module(HTTPX)
    operation: Any = importlib.import_module(f"{HTTPX}.api.contents.get_content")
    async with made.AuthenticatedClient(base_url=url, token=KEY) as client:

        async def call() -> object:
            return await operation.asyncio(ID, client=client)

        yield call


def _stainless(http_client: str) -> Open:
    @contextlib.asynccontextmanager
    async def opened(url: str) -> AsyncIterator[Call]:
        from benchmarks.decode.peers import stainless_models

        made: Any = importlib.import_module("openai")
        model = stainless_models()["Content"]
        async with made.AsyncOpenAI(api_key=KEY, base_url=url, http_client=getattr(made, http_client)()) as client:

            async def call() -> object:
                return await client.get(_PATH, cast_to=model)

            yield call

    return opened


BARE, OURS, WITHOUT = "aiohttp, bytes", "cmsapi with orjson", "cmsapi without"
CONTESTANTS: dict[str, Open] = {
    BARE: _bare(),
    OURS: _cmsapi,
    # In a process that finds no orjson.
    WITHOUT: _cmsapi,
    "aiohttp, bytes, again (A/A)": _bare(),
    "aiohttp, bytes, trust_env": _bare(trust_env=True),
    "pyreqwest, bytes": _pyreqwest,
    "httpx, bytes": _httpx,
    "openapi-generator, asyncio": _generated_asyncio(trust_env=True),
    "openapi-generator, asyncio, trust_env off": _generated_asyncio(trust_env=False),
    "openapi-python-client": _generated_httpx,
    "openai (Stainless), httpx": _stainless("DefaultAsyncHttpxClient"),
    "openai (Stainless), aiohttp": _stainless("DefaultAioHttpClient"),
}
# What some of them need that may not be there.
_PACKAGES = {
    "pyreqwest, bytes": "pyreqwest",
    "httpx, bytes": "httpx",
    "openapi-generator, asyncio": ASYNCIO,
    "openapi-generator, asyncio, trust_env off": ASYNCIO,
    "openapi-python-client": HTTPX,
    "openai (Stainless), httpx": "openai",
    "openai (Stainless), aiohttp": "openai",
}


def missing() -> list[str]:
    """Return the names of the contestants that cannot be measured here."""
    return [name for name, package in _PACKAGES.items() if importlib.util.find_spec(package) is None]
