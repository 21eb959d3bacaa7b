"""Serve analyses with aiohttp.web: submit and poll, progress as server-sent events, callbacks, and a page for people.

    python examples/web/aiohttp_service.py

serves http://127.0.0.1:8080/ on a sandbox of its own. With CMSAPI_API_KEY and CMSAPI_BASE_URL in the environment

    python examples/web/aiohttp_service.py serve 8080

serves an account, and **spends one credit for each analysis**; start it several times for several processes, which
listen on the same port. Put your own login in front of it: it has none.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import analyses
import answers
import process
from aiohttp import web
from aiohttp.typedefs import Handler
from fan_outs import FanOuts

import cmsapi

PAGE = Path(__file__).with_name("page.html")
CLIENT = web.AppKey("client", cmsapi.Client)
NEW_KEYWORDS = web.AppKey("new_keywords", analyses.NewKeywords)
FAN_OUTS = web.AppKey("fan_outs", FanOuts)
routes = web.RouteTableDef()


def create_app(**options: Any) -> web.Application:
    """Make the application; options are those of `process.opened`."""

    async def opened(app: web.Application) -> AsyncIterator[None]:
        async with process.opened(**options) as (app[CLIENT], app[FAN_OUTS]):
            app[NEW_KEYWORDS] = analyses.NewKeywords(app[CLIENT], app[FAN_OUTS])
            yield

    async def stopping(app: web.Application) -> None:
        app[FAN_OUTS].stopping.set()

    app = web.Application(middlewares=[problems])
    app.add_routes(routes)
    app.cleanup_ctx.append(opened)
    app.on_shutdown.append(stopping)
    return app


@web.middleware
async def problems(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Answer for the errors of handlers."""
    try:
        return await handler(request)
    except cmsapi.CMSError as error:
        status, headers, document = answers.problem(error)
        return web.json_response(document, status=status, headers=headers, content_type="application/problem+json")
    except answers.RefusedError as error:
        document = answers.document(error.status, error.reason)
        return web.json_response(document, status=error.status, content_type="application/problem+json")


@routes.get("/")
async def page(request: web.Request) -> web.StreamResponse:
    """Show the page for people."""
    return web.FileResponse(PAGE)


@routes.get("/keywords")
async def keywords(request: web.Request) -> web.Response:
    """List the keywords that were never analysed."""
    return web.json_response(await request.app[NEW_KEYWORDS].read())


# One analysis: submit it, then ask for it


@routes.post("/analyses")
async def submit(request: web.Request) -> web.Response:
    """Launch an analysis and return its token, without waiting for it."""
    match await body(request):
        case {"keyword_id": str(keyword_id)}:
            submitted = await analyses.submit(request.app[CLIENT], keyword_id)
            location = {"Location": f"/analyses/{submitted['token']}"}
            return web.json_response(submitted, status=202, headers=location)
    raise answers.RefusedError(422, "The body must have a keyword_id.")


@routes.get("/analyses/{token}")
async def read(request: web.Request) -> web.Response:
    """Return the status, with the result once there is one; `wait` is for so many seconds at most."""
    try:
        wait = float(request.query.get("wait", "0"))
    except ValueError as error:
        raise answers.RefusedError(422, "wait must be a number of seconds.") from error
    # When the browser goes away, aiohttp cancels this, and nothing is polled for it.
    client, stopping = request.app[CLIENT], request.app[FAN_OUTS].stopping
    return web.json_response(await analyses.read(client, request.match_info["token"], wait, stopping))


# Many analyses: in the background, under a name that the browser chooses


@routes.put("/fan-outs/{name:[a-z0-9][a-z0-9-]{0,79}}")
async def start(request: web.Request) -> web.Response:
    """Start a fan-out, or go on with it; the same request again does no harm."""
    name = request.match_info["name"]
    match await body(request):
        case {"keyword_ids": [str(), *_] as ids, **more} if len(ids) <= 500 and all(isinstance(i, str) for i in ids):
            callback = more.get("callback")
            await request.app[FAN_OUTS].start(name, ids, None if callback is None else str(callback))
            return web.json_response({"name": name, "events": f"/fan-outs/{name}/events"}, status=202)
    raise answers.RefusedError(422, "The body must have keyword_ids, 1 to 500 texts.")


@routes.get("/fan-outs")
async def every(request: web.Request) -> web.Response:
    """List the newest fan-outs."""
    return web.json_response(await request.app[FAN_OUTS].newest())


@routes.get("/fan-outs/{name}")
async def one(request: web.Request) -> web.Response:
    """Return how far a fan-out is, with each item and its result."""
    return web.json_response(await request.app[FAN_OUTS].show(request.match_info["name"]))


@routes.get("/fan-outs/{name}/events")
async def events(request: web.Request) -> web.StreamResponse:
    """Follow the progress until the end, which is the event whose `state` is `finished`."""
    name = (await request.app[FAN_OUTS].show(request.match_info["name"]))["name"]
    stream = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-cache"})
    await stream.prepare(request)
    async for progress in request.app[FAN_OUTS].follow(name):
        await stream.write(f"data: {json.dumps(progress)}\n\n".encode())
    return stream


async def body(request: web.Request) -> Any:
    """Read the document of a request; another site cannot send this type without being asked for permission."""
    if request.content_type != "application/json":
        raise answers.RefusedError(415, "The body must be application/json.")
    try:
        return await request.json()
    except ValueError as error:
        raise answers.RefusedError(400, "The body is not JSON.") from error


# Handlers end when their browsers go away, and requests that are under way have five seconds at the end.
ENDING: dict[str, Any] = {"handler_cancellation": True, "shutdown_timeout": 5.0}


async def main(port: int) -> None:
    """Serve a sandbox until Ctrl-C."""
    async with process.sandbox() as options:
        runner = web.AppRunner(create_app(**options), **ENDING)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", port).start()
        print(f"Open http://127.0.0.1:{port}/ in a browser; Ctrl-C ends it.", flush=True)
        try:
            await asyncio.Event().wait()
        finally:
            await runner.cleanup()


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["serve", port]:
            web.run_app(create_app(), port=int(port), reuse_port=True, **ENDING)
        case [] | [_]:
            with contextlib.suppress(KeyboardInterrupt):
                asyncio.run(main(int(sys.argv[1]) if sys.argv[1:] else 8080))
        case _:
            sys.exit(__doc__)
