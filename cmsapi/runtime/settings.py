"""The settings that each client has of its own, whatever it shares with others."""

from __future__ import annotations

from typing import Any

import attrs

from cmsapi.api.operations import OPERATIONS, OperationTable
from cmsapi.config import LaunchPolicy, PollPolicy, RateLimits, RetryPolicy, Timeouts
from cmsapi.errors import ConfigError


@attrs.frozen(kw_only=True)
class Settings:
    """Hold the policies of one client, and how many times `with_options` was called to make it (`depth`)."""

    limits: RateLimits = attrs.field(factory=RateLimits)
    retry: RetryPolicy = attrs.field(factory=RetryPolicy)
    polling: PollPolicy = attrs.field(factory=PollPolicy)
    timeouts: Timeouts = attrs.field(factory=Timeouts)
    launch: LaunchPolicy = attrs.field(factory=LaunchPolicy)
    operations: OperationTable = OPERATIONS
    depth: int = 0

    @classmethod
    def of(cls, original: Settings | None = None, **given: Any) -> Settings:
        """Make settings of what is given, and of those of the original client for the rest.

        Raises:
            ConfigError: A setting has the wrong type.
        """
        chosen = {name: value for name, value in given.items() if value is not None}
        defaults = cls()
        for name, value in chosen.items():
            wanted = type(getattr(defaults, name))
            if not isinstance(value, wanted):
                example = "OPERATIONS.override(…)" if wanted is OperationTable else f"cmsapi.{wanted.__name__}(…)"
                raise ConfigError(f"`{name}` must be {example}, got {type(value).__name__}.")
        if original is not None:
            chosen["depth"] = original.depth + 1
        return attrs.evolve(original or defaults, **chosen)
