"""A web service with FastAPI: one client for the process, progress as server-sent events, 503 instead of long waits.

Start `cmsapi sandbox` in another terminal, and set CMSAPI_BASE_URL and CMSAPI_API_KEY to what it prints; or set them
for your account, where **each keyword costs one analysis credit**. Set CMSAPI_STATE to a state that survives
restarts, such as sqlite:///service.db; several processes or hosts share redis:// or postgresql://. Then:

    uvicorn --app-dir examples --port 8080 --timeout-graceful-shutdown 3 fastapi_service:app
    curl -X POST localhost:8080/analyses/KEYWORD_ID
    curl -N localhost:8080/analyses/TOKEN
    curl -X POST localhost:8080/batches/spring --json '["KEYWORD_ID", "KEYWORD_ID"]'
    curl -N localhost:8080/batches/spring

Closing a stream never stops a job; DELETE /batches/spring stops further launches, and launched jobs continue. Another
POST continues the batch, and nothing is paid for twice. There is no login: add your own.
"""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI, HTTPException, Request
from fastapi.responses import JSONResponse, StreamingResponse

from cmsapi import APIError, ArgumentError, Client, CMSError, Progress, RateLimitWaitError, to_dict

MAX_WAIT = 2.0  # seconds that a visitor waits for the limits of the key, at most
batches: dict[str, Any] = {}  # this process's fan-outs, by name
tasks: dict[str, asyncio.Task[Any]] = {}


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Open the process's client, and a variant for visitors that waits at most `MAX_WAIT` for the rate limits."""
    async with Client() as client:
        app.state.client, app.state.hasty = client, client.with_options(max_wait=MAX_WAIT)
        yield
        for task in tasks.values():
            task.cancel()


app = FastAPI(lifespan=lifespan)


@app.exception_handler(CMSError)
async def problem(request: Request, error: CMSError) -> JSONResponse:
    """Return the HTTP response for an error of cmsapi that a handler raised."""
    if isinstance(error, RateLimitWaitError):
        headers = {"Retry-After": str(math.ceil(error.retry_after))}
        return JSONResponse({"error": "The limits of the service are used up."}, 503, headers)
    if isinstance(error, ArgumentError):
        return JSONResponse({"error": str(error)}, 422)
    passed_on = error.status if isinstance(error, APIError) and error.status in (404, 409) else 502
    return JSONResponse({"error": str(error)}, passed_on)


def events(source: AsyncIterator[dict[str, Any]]) -> StreamingResponse:
    """Return ``source`` as a stream of server-sent events; FastAPI cancels it when the visitor leaves."""

    async def lines() -> AsyncIterator[str]:
        async for event in source:
            yield f"data: {json.dumps(event)}\n\n"

    return StreamingResponse(lines(), media_type="text/event-stream", headers={"Cache-Control": "no-cache"})


@app.post("/analyses/{keyword_id}", status_code=202)
async def analyze(keyword_id: str) -> dict[str, str]:
    """Launch the analysis of a keyword, or join a running analysis, and return its token."""
    job = await app.state.hasty.keywords.analyze(keyword_id)
    return {"token": job.token, "events": f"/analyses/{job.token}"}


@app.get("/analyses/{token}")
async def follow_analysis(token: str) -> StreamingResponse:
    """Stream the polls of an analysis, and then its result or error; visitors who follow the same job share polls."""
    job = app.state.client.jobs.attach(token, "analysis")

    async def source() -> AsyncIterator[dict[str, Any]]:
        try:
            async for seen in job.events():
                yield {"phase": seen.phase, "age": round(seen.age)}
            yield {"result": to_dict(await job)}
        except CMSError as error:
            yield {"error": str(error)}

    return events(source())


@app.post("/batches/{name}", status_code=202)
async def start(name: str, keyword_ids: list[str]) -> dict[str, str]:
    """Start or continue a batch in the background, unless it is already running in this process."""
    if name not in tasks or tasks[name].done():
        client = app.state.client
        fan_out = batches[name] = client.jobs.batch(name).map(client.keywords.analyze, dict.fromkeys(keyword_ids))
        tasks[name] = asyncio.create_task(run(fan_out))
    return {"name": name, "events": f"/batches/{name}"}


async def run(fan_out: Any) -> None:
    """Run a batch and print its outcomes, which the state also stores."""
    async with fan_out:
        async for outcome in fan_out:
            print(outcome.item, "analyzed" if outcome.ok else outcome.error)


@app.get("/batches/{name}")
async def follow_batch(name: str) -> StreamingResponse:
    """Stream the progress of a batch; answer with 404 if this process has not started it."""
    if name not in batches:
        raise HTTPException(404, "No such batch in this process: POST starts or continues it.")

    async def source() -> AsyncIterator[dict[str, Any]]:
        yield shown(batches[name].progress)
        async for progress in batches[name].follow():
            yield shown(progress)

    return events(source())


def shown(progress: Progress) -> dict[str, Any]:
    """Return ``progress`` as a dictionary that can be sent as JSON."""
    return {"done": progress.done, "of": progress.total, "failed": progress.failed, "text": str(progress)}


@app.delete("/batches/{name}", status_code=204)
async def stop(name: str) -> None:
    """Stop launching jobs of a batch; launched jobs continue at the service."""
    if name in tasks:
        tasks[name].cancel()
