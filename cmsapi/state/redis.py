"""Share a state among many hosts, on Redis 6.2 or Valkey.

Each change is one script on the server, by the server's clock. A process may die at any moment without a loss. When the
server itself loses its data, open jobs are lost with it: a server that writes nothing to a disk is warned of, once.
"""

from __future__ import annotations

import asyncio
import hashlib
import inspect
import logging
import secrets
from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Any, cast

import redis.asyncio as redis
from redis.asyncio.connection import AbstractConnection
from redis.asyncio.retry import Retry
from redis.backoff import ExponentialBackoff
from redis.commands.core import AsyncScript
from redis.exceptions import ConnectionError as RedisConnectionError, RedisError, TimeoutError as RedisTimeoutError

from cmsapi.errors import ConfigError, StateError
from cmsapi.state import scripts
from cmsapi.state.entry import Entry, Lease
from cmsapi.state.process import Owner
from cmsapi.state.redaction import redact_url
from cmsapi.state.store import LEASE_TTL, Action, Change, Standing, State, T
from cmsapi.state.text import read_row

logger: logging.Logger = logging.getLogger("cmsapi")

# Seconds for one command; a failed one is repeated twice.
TIMEOUT = 2.0
REPEATS = 2
# Seconds for one command with all repeats, once the server was waited for in vain, until it answers again.
SHORT_TIMEOUT = 1.0
CONNECTIONS = 16
# Attempts to change the document of an account while other processes do; seconds for which it is kept; and milliseconds
# for which a process that came too late once goes first.
UPDATES = 200
LIMITS_TTL = 7200
PROMISE_TTL = 300
OLDEST = (6, 2)
# Without these the client reads its own version from the disk, on the loop, for each connection.
_NAMELESS: dict[str, Any] = (
    {"driver_info": None}
    if "driver_info" in inspect.signature(AbstractConnection.__init__).parameters
    else {"lib_name": None, "lib_version": None}
)


_NO_ANSWER = (RedisConnectionError, RedisTimeoutError, OSError, TimeoutError)


class RedisState(State):
    """Share a state among many hosts, on Redis 6.2 or Valkey.

    Args:
        url: `redis://[[user]:password@]host[:port][/db]`, or the same with `rediss` for TLS. What the Redis client
            takes as a query, such as `ssl_ca_certs`, may follow.
        lease_ttl: Seconds after which leases of an owner without a heartbeat may be taken over.

    Raises:
        ConfigError: The URL cannot be read.
    """

    def __init__(self, url: str, *, lease_ttl: float = LEASE_TTL) -> None:
        self._lease_ttl = lease_ttl
        self._shown_url = redact_url(url)
        # Older clients accept the certificate of any host.
        checks = {"ssl_check_hostname": True} if url.startswith("rediss:") else {}
        try:
            pool = redis.BlockingConnectionPool.from_url(
                url,
                max_connections=CONNECTIONS,
                decode_responses=True,
                socket_timeout=TIMEOUT,
                socket_connect_timeout=TIMEOUT,
                retry=Retry(ExponentialBackoff(cap=0.4, base=0.05), REPEATS),
                **_NAMELESS,
                **checks,
                retry_on_error=[RedisConnectionError, RedisTimeoutError],
            )
        except (ValueError, TypeError) as error:
            raise ConfigError(
                f"state: {self._shown_url} is not the URL of a Redis server ({type(error).__name__})."
            ) from None
        self._client: redis.Redis = redis.Redis.from_pool(pool)
        self._owner: Owner | None = None
        self._greeting = asyncio.Lock()
        self._scopes: set[str] = set()
        # The leases under which this process holds entries.
        self._leases: set[str] = set()
        # Commands to which the server has not answered, whether the last one was such, and the last cause that it or
        # the network named since it answered.
        self._unanswered = 0
        self._silent = False
        self._cause = ""
        self._closed = False
        register = self._client.register_script
        self._change_entry = register(scripts.CHANGE)
        self._heartbeat, self._evict = register(scripts.HEARTBEAT), register(scripts.EVICT)
        self._alive = register(scripts.ALIVE)
        self._compare_and_set = register(scripts.COMPARE_AND_SET)
        self._read_limits, self._write_limits = register(scripts.READ_LIMITS), register(scripts.WRITE_LIMITS)

    async def _ask(self, command: Callable[..., Awaitable[Any]], *args: Any) -> Any:
        """Run a command, after the server was greeted.

        Raises:
            StateError: The server does not answer, refuses, or holds another version's state.
        """
        if self._closed:
            raise StateError(f"The state {self._shown_url} is closed; nothing was written.")
        unanswered, greeted = self._unanswered, False
        try:
            if self._owner is None:
                async with self._greeting:
                    if self._owner is None:
                        if self._unanswered != unanswered:
                            raise RedisConnectionError(self._cause)
                        async with self._patience():
                            await self._greet()
            greeted = True
            async with self._patience():
                result = await command(*args)
        except (RedisError, OSError, TimeoutError) as error:
            self._silent = isinstance(error, _NO_ANSWER)
            self._unanswered += self._silent
            self._cause = str(error).rstrip(".") or self._cause
            raise self._error(error, greeted) from error
        self._silent, self._cause = False, ""
        return result

    def _patience(self) -> asyncio.Timeout:
        """Wait shortly for a server that was waited for in vain, so that closing a client waits for it once."""
        return asyncio.timeout(SHORT_TIMEOUT if self._silent else None)

    def _error(self, error: Exception, greeted: bool) -> StateError:
        said = str(error).rstrip(".")
        if not said:
            said = f"no answer; before that {self._cause}" if self._cause else "no answer"
        if said.startswith("CMSAPI "):
            _, found, ours = said.split()
            return StateError(
                f"The state {self._shown_url} was made by another version of this SDK (its layout is {found}, this "
                f"one's is {ours}); it was left as it is. Let all processes that share it use one version, "
                "or use another database. Jobs that are open in it are only known there."
            )
        return StateError(
            f"The state {self._shown_url} cannot be used ({type(error).__name__}: {said}). "
            # Before it is greeted, nothing is sent to it that would change something.
            f"{'What was to be written may have been written' if greeted else 'Nothing was written'}. "
            "See that the server runs, can be reached, and lets this user run scripts."
        )

    async def _greet(self) -> None:
        owner = await asyncio.to_thread(Owner.here)
        about: Any = await self._client.info()
        version = str(about.get("redis_version", ""))
        if tuple(int(part) for part in version.split(".")[:2] if part.isdecimal()) < OLDEST:
            raise StateError(
                f"The server at {self._shown_url} is Redis {version}; the shared state needs 6.2 or later."
            )
        await self._warn_of_loss(about)
        self._owner = owner

    async def _warn_of_loss(self, about: Any) -> None:
        if self._shown_url in _warned:
            return
        _warned.add(self._shown_url)
        try:
            said: Any = await self._client.config_get("save", "maxmemory-policy")
        except RedisError:
            # Many services do not let their users read this.
            said = {}
        if said.get("save") == "" and not about.get("aof_enabled"):
            logger.warning(
                "the server at %s writes nothing to a disk: when it restarts, open jobs and what is left of the limits "
                "are forgotten, and launches may be paid twice; switch on appendonly",
                self._shown_url,
            )
        policy = str(said.get("maxmemory-policy") or about.get("maxmemory_policy") or "noeviction")
        if policy != "noeviction":
            # Only what is kept about the limits has a time to live.
            kept = "about the limits" if policy.startswith("volatile") else "about open jobs and the limits"
            logger.warning(
                "the server at %s may evict what is kept %s (maxmemory-policy %s); use noeviction",
                self._shown_url,
                kept,
                policy,
            )

    async def _run_alive(self, script: AsyncScript, scope: str, *args: str, batch: str | None = None) -> Any:
        """Run a script that sends a heartbeat."""
        self._scopes.add(scope)
        names = ["version", "journal", "leases", "owners", "alive", f"batch:{batch or ''}"]
        keys = [_key(scope, name) for name in names]

        async def command() -> Any:
            owner = cast("Owner", self._owner)
            return await script(keys, [owner.id, owner.spell(), str(int(self._lease_ttl * 1000)), *args])

        return await self._ask(command)

    async def change(
        self, lease: Lease, expected: Standing, action: Action, entry: Entry | None = None
    ) -> tuple[Standing, Entry | None]:
        """Change an entry if it stands as it must, and send a heartbeat."""
        text, batch, item = ("", None, None) if entry is None else (entry.spell(), entry.batch, entry.item)
        args = (lease.key, lease.id, expected, action, text, item or "")
        if action is Action.HOLD:
            self._leases.add(lease.id)
        stood, found, holder = await self._run_alive(self._change_entry, lease.scope, *args, "", batch=batch)
        held_by, _, owner = holder.partition(" ")
        if stood == Standing.HELD and owner == cast("Owner", self._owner).id and held_by not in self._leases:
            # Something else has written that: this process would wait for itself.
            stood, found, _ = await self._run_alive(self._change_entry, lease.scope, *args, holder, batch=batch)
        if action is not Action.HOLD:
            self._leases.discard(lease.id)
        return Standing(stood), read_row(Entry, found) if found and expected is not Standing.MINE else None

    async def entries(self, scope: str) -> dict[str, Entry]:
        """Return all open entries by key."""
        found = await self._ask(self._client.hgetall, _key(scope, "journal"))
        return {name: read_row(Entry, text) for name, text in found.items()}

    async def heartbeat(self, scope: str) -> Sequence[Owner]:
        """Send a heartbeat, and return the others that are alive."""
        alive = [read_row(Owner, text) for text in await self._run_alive(self._heartbeat, scope)]
        return [owner for owner in alive if owner != self._owner]

    async def others(self, scope: str) -> Sequence[Owner]:
        """Return the others that are alive, without a heartbeat."""
        keys = [_key(scope, name) for name in ("version", "owners", "alive")]
        alive = [read_row(Owner, text) for text in await self._ask(self._alive, keys) if text]
        return [owner for owner in alive if owner != self._owner]

    async def evict(self, scope: str, owner: Owner) -> None:
        """Let others claim what an owner holds."""
        keys = [_key(scope, name) for name in ("version", "owners", "alive")]
        await self._ask(self._evict, keys, [owner.id])

    async def outcomes(self, scope: str, *, batch: str | None = None, since: float = 0.0) -> list[Entry]:
        """Return how the items of a batch, or of all batches, ended."""

        async def find() -> list[str]:
            return [key async for key in self._client.scan_iter(match=_key(scope, "batch:*"), count=1000)]

        keys = [_key(scope, f"batch:{batch}")] if batch is not None else await self._ask(find)
        texts = [text for key in keys for text in await self._ask(self._client.hvals, key)]
        return [entry for text in texts if (entry := read_row(Entry, text)).asked_at >= since]

    async def forget(self, scope: str, batch: str, items: Collection[str]) -> None:
        """Forget how some items ended."""
        if items:
            await self._ask(self._client.hdel, _key(scope, f"batch:{batch}"), *items)

    async def get_text(self, scope: str, name: str) -> str | None:
        """Return the text of a document."""
        text: str | None = await self._ask(self._client.hget, _key(scope, "documents"), name)
        return text

    async def replace_text(self, scope: str, name: str, old: str | None, new: str | None) -> str | None:
        """Put a text in the place of the old one if that stands."""
        keys = [_key(scope, "version"), _key(scope, "documents")]
        stands: str = await self._ask(self._compare_and_set, keys, [name, old or "", new or ""])
        return stands or None

    async def update_limits(self, account: str, change: Change[T]) -> T:
        """Put a new document in the place of an account's old one, unless another process was faster; then again."""
        keys = [_key(account, name) for name in ("version", "limits", "next")]
        mine, found = secrets.token_hex(8), await self._ask(self._read_limits, keys)
        for attempt in range(UPDATES):
            version, text, time = found
            document, result = change(text or None, float(time))
            args: list[str | int] = [version, mine, document, LIMITS_TTL, PROMISE_TTL]
            found = await self._ask(self._write_limits, keys, args)
            if found is None:
                return result
            if attempt:
                await asyncio.sleep(min(0.1, 0.005 * 2**attempt) * secrets.randbelow(1000) / 1000)
        raise StateError(
            f"The state {self._shown_url} cannot be used: {UPDATES} times, another process changed the limits first. "
            "Nothing was written."
        )

    async def aclose(self) -> None:
        """Let others claim what this process holds, and close the connections."""
        if self._closed:
            return
        try:
            if self._owner is not None:
                for scope in self._scopes:
                    await self.evict(scope, self._owner)
        except StateError as error:
            # The leases run out by themselves.
            logger.warning("leases were not given back: %s", error)
        finally:
            self._closed = True
            await self._client.aclose()


_warned: set[str] = set()


def _key(scope: str, name: str) -> str:
    tag = hashlib.blake2b(scope.encode(), digest_size=16).hexdigest()
    return f"cmsapi:{{{tag}}}:{name}"
