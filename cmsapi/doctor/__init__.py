"""Diagnose the connection between a program and the service."""

from __future__ import annotations

from cmsapi.doctor.diagnosis import Check, Diagnosis, Verdict
from cmsapi.doctor.routes import RouteCheck

__all__ = ["Check", "Diagnosis", "RouteCheck", "Verdict"]
