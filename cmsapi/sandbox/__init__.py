"""The whole service in a box: its operations, limits and jobs, written from the specification.

The sandbox shares no table, model or enum with the SDK. Otherwise both could contain the same mistake, and no test
would find it.
"""

from __future__ import annotations

from cmsapi.sandbox.faults.proxy import FaultProxy
from cmsapi.sandbox.faults.rules import Fault, Faults
from cmsapi.sandbox.faults.storm import storm
from cmsapi.sandbox.randomness.distributions import Fixed, Lognormal, Mixture, Weibull
from cmsapi.sandbox.sandbox import Sandbox, serve_forever
from cmsapi.sandbox.service.ledger import Entry, Ledger
from cmsapi.sandbox.service.limits import Limits
from cmsapi.sandbox.service.service import Statistics
from cmsapi.sandbox.serving.transport import SandboxTransport
from cmsapi.sandbox.world.behaviour import Behaviour
from cmsapi.sandbox.world.billing import Credits
from cmsapi.sandbox.world.books import Books
from cmsapi.sandbox.world.jobs import Job

__all__ = [
    "Behaviour",
    "Books",
    "Credits",
    "Entry",
    "Fault",
    "FaultProxy",
    "Faults",
    "Fixed",
    "Job",
    "Ledger",
    "Limits",
    "Lognormal",
    "Mixture",
    "Sandbox",
    "SandboxTransport",
    "Statistics",
    "Weibull",
    "serve_forever",
    "storm",
]
