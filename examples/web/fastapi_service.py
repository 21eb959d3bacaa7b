"""Serve analyses with FastAPI: submit and poll, progress as server-sent events, callbacks, and a page for people.

    python examples/web/fastapi_service.py

serves http://127.0.0.1:8080/ on a sandbox of its own. With CMSAPI_API_KEY and CMSAPI_BASE_URL in the environment

    uvicorn fastapi_service:app --app-dir examples/web --workers 2 --timeout-graceful-shutdown 5

serves an account, and **spends one credit for each analysis**. Put your own login in front of it: it has none.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
import threading
from collections.abc import AsyncIterable, AsyncIterator, Callable, Coroutine, Mapping
from pathlib import Path as File
from typing import Annotated, Any

import analyses
import answers
import process
import uvicorn
from fan_outs import FanOuts
from fastapi import APIRouter, Depends, FastAPI, Path, Query, Request, Response
from fastapi.responses import FileResponse, JSONResponse
from fastapi.sse import EventSourceResponse, ServerSentEvent
from pydantic import BaseModel, Field

import cmsapi

PAGE = File(__file__).with_name("page.html")


class Analysis(BaseModel):
    """Name the keyword to analyse."""

    keyword_id: str = Field(min_length=1, max_length=255)


class FanOut(BaseModel):
    """Name the keywords to analyse, and the URL that is called at the end."""

    keyword_ids: list[str] = Field(min_length=1, max_length=500)
    callback: str | None = Field(default=None, max_length=2000)


def _client(request: Request) -> Any:
    return request.state.client


def _fan_outs(request: Request) -> Any:
    return request.state.fan_outs


Client = Annotated[cmsapi.Client, Depends(_client)]
AllFanOuts = Annotated[FanOuts, Depends(_fan_outs)]
Name = Annotated[str, Path(pattern="^[a-z0-9][a-z0-9-]{0,79}$")]
Wait = Annotated[float, Query(ge=0, le=analyses.LONGEST_WAIT)]


async def _known(name: Name, fan_outs: AllFanOuts) -> dict[str, Any]:
    return await fan_outs.show(name)


Known = Annotated[dict[str, Any], Depends(_known)]
router = APIRouter()


@router.get("/", include_in_schema=False)
async def page() -> FileResponse:
    """Show the page for people."""
    return FileResponse(PAGE)


@router.get("/keywords")
async def keywords(request: Request) -> Any:
    """List the keywords that were never analysed."""
    return await request.state.new_keywords.read()


# One analysis: submit it, then ask for it


@router.post("/analyses", status_code=202)
async def submit(wanted: Analysis, client: Client, response: Response) -> dict[str, Any]:
    """Launch an analysis and return its token, without waiting for it."""
    submitted = await analyses.submit(client, wanted.keyword_id)
    response.headers["Location"] = f"/analyses/{submitted['token']}"
    return submitted


@router.get("/analyses/{token}")
async def read(token: str, client: Client, fan_outs: AllFanOuts, request: Request, wait: Wait = 0.0) -> Any:
    """Return the status, with the result once there is one; `wait` is for so many seconds at most."""
    return await unless_gone(request, analyses.read(client, token, wait, fan_outs.stopping))


# Many analyses: in the background, under a name that the browser chooses


@router.put("/fan-outs/{name}", status_code=202)
async def start(name: Name, wanted: FanOut, fan_outs: AllFanOuts) -> dict[str, Any]:
    """Start a fan-out, or go on with it; the same request again does no harm."""
    await fan_outs.start(name, wanted.keyword_ids, wanted.callback)
    return {"name": name, "events": f"/fan-outs/{name}/events"}


@router.get("/fan-outs")
async def every(fan_outs: AllFanOuts) -> list[dict[str, Any]]:
    """List the newest fan-outs."""
    return await fan_outs.newest()


@router.get("/fan-outs/{name}")
async def one(found: Known) -> dict[str, Any]:
    """Return how far a fan-out is, with each item and its result."""
    return found


@router.get("/fan-outs/{name}/events", response_class=EventSourceResponse)
async def events(found: Known, fan_outs: AllFanOuts) -> AsyncIterable[ServerSentEvent]:
    """Follow the progress until the end, which is the event whose `state` is `finished`."""
    async for progress in fan_outs.follow(found["name"]):
        yield ServerSentEvent(data=progress)


async def unless_gone(request: Request, answer: Coroutine[Any, Any, Any]) -> Any:
    """Wait for an answer as long as the browser does, so that nothing is polled for one that has gone away."""

    async def gone() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass

    answering, leaving = asyncio.create_task(answer), asyncio.create_task(gone())
    try:
        await asyncio.wait((answering, leaving), return_when=asyncio.FIRST_COMPLETED)
        return await answering if answering.done() else Response(status_code=204)
    finally:
        answering.cancel()
        leaving.cancel()


def when_asked_to_stop(call: Callable[[], None]) -> None:
    """Call a function on Ctrl-C and SIGTERM, too: uvicorn waits for its streams then, and does not tell them."""
    if threading.current_thread() is not threading.main_thread():
        return
    for number in (signal.SIGINT, signal.SIGTERM):
        before = signal.getsignal(number)

        def stop(number: int, frame: Any, before: Any = before) -> None:
            call()
            if callable(before):
                before(number, frame)

        signal.signal(number, stop)


def create_app(**options: Any) -> FastAPI:
    """Make the application; options are those of `process.opened`."""

    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[Mapping[str, Any]]:
        async with process.opened(**options) as (client, fan_outs):
            when_asked_to_stop(fan_outs.stopping.set)
            yield {"client": client, "fan_outs": fan_outs, "new_keywords": analyses.NewKeywords(client, fan_outs)}

    async def problem(request: Request, error: Any) -> Response:
        status, headers, document = answers.problem(error)
        return JSONResponse(document, status, headers, "application/problem+json")

    async def refused(request: Request, error: Any) -> Response:
        document = answers.document(error.status, error.reason)
        return JSONResponse(document, error.status, None, "application/problem+json")

    handlers: dict[int | type[Exception], Any] = {cmsapi.CMSError: problem, answers.RefusedError: refused}
    app = FastAPI(title="Keyword analyses", lifespan=lifespan, exception_handlers=handlers)
    app.include_router(router)
    return app


app = create_app()


async def main(port: int) -> None:
    """Serve a sandbox until Ctrl-C."""
    async with process.sandbox() as options:
        print(f"Open http://127.0.0.1:{port}/ in a browser; Ctrl-C ends it.", flush=True)
        config = uvicorn.Config(create_app(**options), port=port, log_level="warning", timeout_graceful_shutdown=5)
        await uvicorn.Server(config).serve()


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(main(int(sys.argv[1]) if sys.argv[1:] else 8080))
