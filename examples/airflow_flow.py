"""Analyse a keyword in a deferrable operator of Airflow: while the job runs, no worker is occupied.

The operator launches the analysis, which **spends one credit**, and hands the job's token to a trigger. The triggerer
polls it on its event loop, together with all other triggers. Put this file beside your DAGs:

    Analyse(task_id="analyse", keyword_id="kwd_1", state="redis://…", retries=3)

Triggerer and workers need CMSAPI_API_KEY and CMSAPI_BASE_URL, and one state, which they share. Operator and trigger are
tested by themselves, without a scheduler and a triggerer.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from airflow.sdk import BaseOperator
from airflow.triggers.base import BaseTrigger, TriggerEvent

import cmsapi
import cmsapi.blocking

SETTINGS: dict[str, Any] = {}  # of the client, such as `polling`


class JobFinished(BaseTrigger):
    """Wait for a job; started again elsewhere, it goes on with the same job.

    Args:
        token: The token of the job.
        state: What the clients share.
    """

    def __init__(self, token: str, state: str) -> None:
        super().__init__()
        self.token = token
        self.state = state

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Return what another triggerer makes this trigger of."""
        return "airflow_flow.JobFinished", {"token": self.token, "state": self.state}

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Wait for the end of the job, and tell it."""
        async with cmsapi.Client(state=self.state, **SETTINGS) as client:
            try:
                keyword = await client.jobs.attach(self.token, "keyword_analysis")
            except cmsapi.JobError as error:
                yield TriggerEvent({"error": str(error)})
            else:
                yield TriggerEvent({"keyword": keyword.id, "state": str(keyword.analysis_status)})


class Analyse(BaseOperator):
    """Launch the analysis of a keyword, and defer until it has ended.

    Args:
        keyword_id: The keyword.
        state: What the clients share.
        **settings: As for every operator.
    """

    template_fields = ("keyword_id",)

    def __init__(self, *, keyword_id: str, state: str, **settings: Any) -> None:
        super().__init__(**settings)
        self.keyword_id = keyword_id
        self.state = state

    def execute(self, context: Any) -> None:
        """Launch the analysis, or join the one that an earlier try launched."""
        with cmsapi.blocking.Client(state=self.state, **SETTINGS) as client:
            token = client.keywords.analyze(self.keyword_id).token
        self.defer(trigger=JobFinished(token, self.state), method_name="finish")

    def finish(self, context: Any, event: dict[str, str]) -> str:
        """Return the state of the keyword, or fail as the job did."""
        if "error" in event:
            raise RuntimeError(event["error"])
        return event["state"]
