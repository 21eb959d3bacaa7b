"""What calls the server: bare transports, and clients around them."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
from collections.abc import AsyncIterator, Awaitable, Callable

import aiohttp

import cmsapi

Call = Callable[[], Awaitable[object]]
Open = Callable[[str], contextlib.AbstractAsyncContextManager[Call]]

KEY = "sk_benchmark"
_HEADERS = {"Authorization": f"Bearer {KEY}", "Accept": "application/json"}
_PATH = "/v1/contents/ct_8f14e45fceea167a"
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


@contextlib.asynccontextmanager
async def _cmsapi(url: str) -> AsyncIterator[Call]:
    async with cmsapi.Client(KEY, base_url=url, limits=_LIMITS) as client:

        async def call() -> object:
            return await client.contents.get("ct_8f14e45fceea167a")

        yield call


BARE, AGAIN, OURS = "aiohttp, bytes", "aiohttp, bytes, again (A/A)", "cmsapi"
CONTESTANTS: dict[str, Open] = {
    BARE: _bare(),
    OURS: _cmsapi,
    AGAIN: _bare(),
    "aiohttp, bytes, trust_env": _bare(trust_env=True),
}
if importlib.util.find_spec("httpx") is not None:
    CONTESTANTS["httpx, bytes"] = _httpx
