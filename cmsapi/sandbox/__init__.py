"""A simulated Content Marketing Service for tests, in this process or on a socket.

::

    sandbox = Sandbox(durations={"analysis": Fixed(30)})
    async with Client(sandbox.api_key, base_url=sandbox.base_url, transport=sandbox.transport) as client:
        await client.keywords.analyze(sandbox.keyword_ids[0])

The sandbox follows the specification, or `Choices` where the specification is silent. It shares no models with the SDK.
"""

# fmt: off
from cmsapi.sandbox.durations import Fixed, Lognormal, Mixture
from cmsapi.sandbox.faults import Fault, Faults
from cmsapi.sandbox.ledger import AcceptedLaunch, Ledger, LoggedRequest
from cmsapi.sandbox.limits import Limits
from cmsapi.sandbox.sandbox import Sandbox
from cmsapi.sandbox.store import Choices

__all__ = [
    "AcceptedLaunch", "Choices", "Fault", "Faults", "Fixed", "Ledger", "Limits", "LoggedRequest", "Lognormal",
    "Mixture", "Sandbox",
]
