"""The owners of leases: which process, where it runs, and whether it still does.

A process identifier alone says little, because the system gives it out again. Together with the moment at which the
process started, on one boot of one machine and in one namespace of process identifiers, it names a process for good.
Where the system does not tell these, as outside of Linux, a process is never taken for dead, and only its lease ends.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from pathlib import Path

import attrs
from attrs.validators import ge, instance_of, lt, optional

from cmsapi.state.text import write_text

_PROC = Path("/proc")
# The host where the system does not tell its boot.
_UNKNOWN = "unknown"
# States of a process that will never run again.
_DEAD = frozenset("ZXx")


@attrs.frozen(kw_only=True)
class Owner:
    """Name a process that uses a state.

    Args:
        id: Unique, also among the uses of one process.
        host: Digest of the boot of a machine and of its namespace of process identifiers.
        pid: Process identifier.
        started: When the process started, in ticks since the boot; None where the system does not tell.
    """

    id: str = attrs.field(validator=instance_of(str))
    host: str = attrs.field(validator=instance_of(str))
    # No signal goes to a group of processes, and none has a larger number.
    pid: int = attrs.field(validator=[instance_of(int), ge(1), lt(2**31)])
    started: int | None = attrs.field(validator=optional(instance_of(int)))

    @classmethod
    def here(cls) -> Owner:
        """Name this process. Reads files of the system, so that it belongs off the loop."""
        return cls(id=secrets.token_hex(8), host=_host(), pid=os.getpid(), started=_started("self"))

    @property
    def dead(self) -> bool:
        """Whether the process is known to be gone. Reads files of the system, so that it belongs off the loop."""
        # On a system that does not tell its boot, the signal 0 may end a process instead of asking for it.
        if self.started is None or self.host == _UNKNOWN or self.host != _host():
            return False
        started = _started(str(self.pid))
        # A process of another user may be hidden; it can be knocked at all the same.
        return started != self.started if started is not None else not _answers(self.pid)

    def to_text(self) -> str:
        """Write the owner as text."""
        return write_text(attrs.asdict(self))


def _host() -> str:
    try:
        boot = (_PROC / "sys/kernel/random/boot_id").read_text()
        namespace = str((_PROC / "self/ns/pid").readlink())
    except OSError:
        return _UNKNOWN
    return hashlib.blake2b(f"{boot}{namespace}".encode(), digest_size=8).hexdigest()


def _started(process: str) -> int | None:
    """Return when a process started, 0 for one that is dead but not gone, None when nothing can be read."""
    try:
        line = (_PROC / process / "stat").read_text()
    except OSError:
        return None
    # The name of the program, in parentheses, may itself hold spaces and parentheses.
    fields = line[line.rindex(")") + 2 :].split()
    return 0 if fields[0] in _DEAD else int(fields[19])


def _answers(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True
