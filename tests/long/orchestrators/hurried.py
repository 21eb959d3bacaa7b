"""Run an example with clients in a hurry: `python -m tests.long.orchestrators.hurried ENGINE WORD…`.

It runs in the environment of the engines, and what the examples have is what runs.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from pathlib import Path
from typing import Any

import cmsapi

SETTINGS: dict[str, Any] = {
    "limits": cmsapi.RateLimits(per_second=50),
    "polling": cmsapi.PollPolicy(min_interval=0.3, max_interval=0.6),
    "timeouts": cmsapi.Timeouts(request=5.0),
    "launch": cmsapi.LaunchPolicy(settle=1.0),
}
sys.path.insert(0, str(Path(__file__).parents[3] / "examples"))


def say(line: object) -> None:
    """Print a line at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def celery(words: list[str]) -> None:
    """Be a worker of Celery, or ask one."""
    import celery_task

    celery_task.SETTINGS.update(SETTINGS)
    if words == ["work"]:
        celery_task.app.worker_main(["worker", "--concurrency", "1", "--loglevel", "WARNING"])
    else:
        celery_task.analyse_all(words[0], words[1:])


def rq(words: list[str]) -> None:
    """Be a worker of RQ, or ask one."""
    import redis
    from rq import Queue, Retry, Worker

    server = redis.Redis.from_url(os.environ["REDIS"])
    if words == ["work"]:
        Worker([Queue(connection=server)], connection=server).work()
        return
    queue = Queue(connection=server)
    job = queue.enqueue(
        "tests.long.orchestrators.tasks.of_rq", words[1:], job_id=words[0], retry=Retry(max=3), job_timeout=-1
    )
    while (found := job.return_value(refresh=True)) is None:
        time.sleep(0.2)
    for keyword_id, state in found.items():
        say(f"{keyword_id} {state}")


def dask(words: list[str]) -> None:
    """Run a task on a cluster of Dask, which starts a killed worker anew."""
    from distributed import Client, LocalCluster

    from tests.long.orchestrators.tasks import of_dask

    with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        say("pid " + str(client.run(os.getpid).popitem()[1]))
        for keyword_id, state in client.submit(of_dask, words[0], words[1:], key=words[0]).result().items():
            say(f"{keyword_id} {state}")


def temporal(words: list[str]) -> None:
    """Be a worker of Temporal, or ask one."""
    import temporal_worker

    if words == ["work"]:
        asyncio.run(temporal_worker.work(**SETTINGS))
    else:
        asyncio.run(temporal_worker.analyse_all(words[0], words[1:]))


def activity(words: list[str]) -> None:
    """Run the activity of Temporal without a server, as one that is tried again."""
    import temporal_worker
    from temporalio.testing import ActivityEnvironment

    async def once() -> dict[str, str]:
        async with cmsapi.Client(state=os.environ["STATE"], **SETTINGS) as client:
            temporal_worker.client = client
            found: dict[str, str] = await ActivityEnvironment().run(temporal_worker.analyse, words[1:])
            return found

    for keyword_id, state in asyncio.run(once()).items():
        say(f"{keyword_id} {state}")


def prefect(words: list[str]) -> None:
    """Run the flow of Prefect."""
    import prefect_flow

    prefect_flow.SETTINGS.update(SETTINGS)
    for keyword_id, state in asyncio.run(prefect_flow.analysis(words[0], words[1:])).items():
        say(f"{keyword_id} {state}")


def dagster(words: list[str]) -> None:
    """Materialise a partition of the asset of Dagster."""
    import dagster_flow
    from dagster import materialize

    dagster_flow.SETTINGS.update(SETTINGS)
    os.environ["KEYWORD_IDS"] = ",".join(words[1:])
    done = materialize([dagster_flow.analysed], partition_key=words[0])
    for keyword_id, state in done.output_for_node("analysed").items():
        say(f"{keyword_id} {state}")


def airflow(words: list[str]) -> None:
    """Execute the operator of Airflow, or run the trigger that it deferred to, as a triggerer makes it."""
    import importlib

    import airflow_flow
    from airflow.sdk.exceptions import TaskDeferred

    airflow_flow.SETTINGS.update(SETTINGS)
    if words[0] == "execute":
        operator = airflow_flow.Analyse(task_id="analyse", keyword_id=words[1], state=os.environ["STATE"])
        try:
            operator.execute({})
        except TaskDeferred as deferred:
            say(deferred.trigger.serialize()[1]["token"])
        return
    path, settings = airflow_flow.JobFinished(words[1], os.environ["STATE"]).serialize()
    module, name = path.rsplit(".", 1)
    trigger = getattr(importlib.import_module(module), name)(**settings)

    async def first() -> Any:
        say("waiting")
        return await anext(trigger.run())

    event = asyncio.run(first()).payload
    operator = airflow_flow.Analyse(task_id="analyse", keyword_id="kwd", state="memory:")
    say(f"{event['keyword']} {operator.finish({}, event)}")


def sites(words: list[str]) -> None:
    """Launch and ask through the sites of Flask and Django, as a browser does."""
    import django_app
    import flask_app
    from django import setup
    from django.test import Client

    assert django_app.client is not None
    setup()
    browsers: list[tuple[Any, Any]] = [
        (flask_app.app.test_client(), lambda answer: answer.json),
        (Client(), lambda answer: answer.json()),
    ]
    for keyword_id, (browser, read) in zip(words, browsers, strict=False):
        assert browser.post("/keywords/kwd_none/analysis").status_code == 404
        answer = browser.post(f"/keywords/{keyword_id}/analysis")
        assert answer.status_code == 202
        while "keyword" not in (found := read(browser.get(f"/analyses/{read(answer)['token']}"))):
            time.sleep(1)
        say(f"{keyword_id} {'success' if found['state'] == 'succeeded' else found}")


ENGINES = {each.__name__: each for each in (celery, rq, dask, temporal, activity, prefect, dagster, airflow, sites)}

if __name__ == "__main__":
    ENGINES[sys.argv[1]](sys.argv[2:])
