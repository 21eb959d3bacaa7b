"""The settings that each client has of its own, whatever it shares with others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from cmsapi.api.operations import OPERATIONS, OperationTable
from cmsapi.config import LaunchPolicy, PollPolicy, RateLimits, RetryPolicy, Timeouts
from cmsapi.errors import ConfigError
from cmsapi.observability.events import Hook
from cmsapi.transport.headers import problem_of


@attrs.frozen(kw_only=True)
class Settings:
    """Hold the settings of one client.

    Args:
        limits: Its request limits.
        retry: Its retries.
        polling: How it polls jobs.
        timeouts: Its timeouts.
        launch: How it launches.
        operations: Its table of operations.
        hooks: The functions that are called with its events.
        headers: The headers that it adds to each request, with names in lower case.
        depth: How many times `with_options` was called to make it.
    """

    limits: RateLimits = attrs.field(factory=RateLimits)
    retry: RetryPolicy = attrs.field(factory=RetryPolicy)
    polling: PollPolicy = attrs.field(factory=PollPolicy)
    timeouts: Timeouts = attrs.field(factory=Timeouts)
    launch: LaunchPolicy = attrs.field(factory=LaunchPolicy)
    operations: OperationTable = OPERATIONS
    hooks: tuple[Hook, ...] = ()
    headers: Mapping[str, str] = attrs.field(factory=dict)
    depth: int = 0

    @classmethod
    def of(
        cls,
        original: Settings | None = None,
        *,
        hooks: Sequence[Hook] = (),
        headers: Mapping[str, str] | None = None,
        **given: Any,
    ) -> Settings:
        """Make settings of what is given, and of those of the original client for the rest.

        Hooks and headers are added to those of the original client; a header of the same name is replaced.

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
        if not isinstance(hooks, Sequence) or not all(callable(hook) for hook in hooks):
            raise ConfigError(f"`hooks` must be a list of functions that take an event, got {type(hooks).__name__}.")
        if headers is not None and (problem := problem_of(headers)) is not None:
            raise ConfigError(f"{problem} Nothing was sent.")
        if original is not None:
            chosen["depth"] = original.depth + 1
        base = original or defaults
        added = {name.lower(): value for name, value in (headers or {}).items()}
        return attrs.evolve(base, hooks=(*base.hooks, *hooks), headers={**base.headers, **added}, **chosen)
