"""The whole service in a box: the specification's rules, limits and jobs, written apart from the SDK.

It shares no table, model or enum with the SDK: a mistake made twice would otherwise agree with itself.
"""

from __future__ import annotations

from cmsapi.sandbox.accounts import Credits
from cmsapi.sandbox.behaviour import Behaviour
from cmsapi.sandbox.durations import Fixed, Lognormal, Mixture, Weibull
from cmsapi.sandbox.faults import Fault, Faults
from cmsapi.sandbox.jobs import Job
from cmsapi.sandbox.ledger import Entry, Ledger
from cmsapi.sandbox.limits import Limits
from cmsapi.sandbox.proxy import FaultProxy
from cmsapi.sandbox.sandbox import Sandbox, serve_forever
from cmsapi.sandbox.service import Statistics
from cmsapi.sandbox.storm import storm
from cmsapi.sandbox.transport import SandboxTransport

__all__ = [
    "Behaviour",
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
