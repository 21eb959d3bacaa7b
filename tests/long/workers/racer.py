"""The program of the crash tests, with shorter leases: `python -m tests.long.workers.racer SECONDS STATE …`."""

from __future__ import annotations

import asyncio
import sys

from cmsapi.state import store

if __name__ == "__main__":
    # Before anything is loaded that reads it.
    store.LEASE_TTL = float(sys.argv[1])
    from tests.long.crash.program import main

    state, base_url, key, kind, workspace_id, *items = sys.argv[2:]
    asyncio.run(main(state, base_url, key, kind, workspace_id, items))
