"""Analyse all keywords of a workspace that have no analysis yet, in a script without an event loop.

Runs on a sandbox of its own, in about half a minute:

    python examples/script.py

With `--account` it uses CMSAPI_API_KEY and CMSAPI_BASE_URL instead, and **spends one credit for each keyword**; it asks
first. What it launches is written to analyses.db, so that a script which was killed is started again and pays for
nothing twice. On the sandbox its last line is:

    20 analysed, 0 failed; 20 credits spent
"""

from __future__ import annotations

import sys

import cmsapi.blocking
from cmsapi.sandbox import Fixed, Sandbox


def analyse(client: cmsapi.blocking.Client, ask: bool) -> None:
    """Analyse what is new in the first workspace."""
    workspace = client.workspaces.list().first_page()[0]
    keywords = client.keywords.list(workspace_id=workspace.id)
    names = {keyword.id: keyword.keyword for keyword in keywords if keyword.analysis_status is None}
    before = client.me().organization.credits.analysis
    print(f"{workspace.name}: {len(names)} new keywords, {before} credits")
    if ask and input("Spend one credit for each? [y/N] ") != "y":
        return
    failed = 0
    with client.jobs.batch("first analysis") as batch:
        for outcome in batch.map(client.keywords.analyze, names):
            if outcome.error is None:
                print(f"  {names[outcome.item]}: {outcome.value.analysis_status}")
            else:
                failed += 1
                print(f"  {names[outcome.item]}: {outcome.error}")
        print(batch.progress)
    after = client.me().organization.credits.analysis
    print(f"{len(names) - failed} analysed, {failed} failed; {before - after} credits spent")


if __name__ == "__main__":
    if "--account" in sys.argv:
        with cmsapi.blocking.Client(state="sqlite:///analyses.db") as client:
            analyse(client, ask=True)
    else:
        box = Sandbox(durations=Fixed(8))
        with cmsapi.blocking.Client(box.api_key, base_url=box.base_url, transport=box.transport) as client:
            analyse(client, ask=False)
