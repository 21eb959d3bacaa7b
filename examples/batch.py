"""Analyze keywords in a batch that survives Ctrl-C, kill -9 and power cuts.

Start `cmsapi sandbox` in another terminal, and set CMSAPI_BASE_URL and CMSAPI_API_KEY to what it prints; or set them
for your account, where **each keyword costs one analysis credit**. Then, with one identifier per line in a file:

    python examples/batch.py keywords-2026-11 keyword-ids.txt

Stop it at any time and run it again: it continues, and nothing is paid for twice. The state is stored in the file
batches.db, or at the address in CMSAPI_STATE. Failed keywords stay failed; append `--retry` to launch them again.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from cmsapi import Client

STATE = os.environ.get("CMSAPI_STATE", "sqlite:///batches.db")


async def main(name: str, keyword_ids: list[str], *, retry: bool) -> int:
    """Analyze the keywords (with ``retry``, failed ones again), print each outcome, and return the exit status."""
    async with Client(state=STATE) as client, client.jobs.batch(name) as batch:
        if retry:
            print(f"{await batch.retry_failed()} failed keywords will be launched again")
        async for outcome in batch.map(client.keywords.analyze, keyword_ids):
            said = outcome.value.analysis_status if outcome.ok else f"{type(outcome.error).__name__}: {outcome.error}"
            print(outcome.item, said, "(by an earlier run)" if outcome.earlier else "", flush=True)
        print(batch.progress)
        if batch.unknown:  # a launch that may have been paid for is never repeated automatically
            print("Look at these before `batch.retry_unknown()` launches them again:", *batch.unknown)
        return 1 if batch.failed or batch.unknown or batch.unfinished else 0


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4) or sys.argv[3:] not in ([], ["--retry"]):
        sys.exit(__doc__)
    items = list(dict.fromkeys(Path(sys.argv[2]).read_text(encoding="utf-8").split()))  # each once
    sys.exit(asyncio.run(main(sys.argv[1], items, retry=sys.argv[3:] == ["--retry"])))
