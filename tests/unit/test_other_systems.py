"""Systems other than this one: what only POSIX has is taken away."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

# Libraries find their own way around what is missing, so they are loaded before it is taken away.
LIBRARIES = """
import asyncio, importlib, os, pathlib, pkgutil, select, signal, socket, sys, threading, time
import aiohttp.web, anyio.to_thread, anyio._backends._asyncio, attrs, cattrs, concurrent.futures.thread, sqlite3
for library in (
    "aioresponses", "cyclopts", "IPython", "matplotlib.pyplot", "mcp.server.mcpserver", "psycopg", "pytest",
    "redis.asyncio", "rich.console",
):
    try:
        importlib.import_module(library)
    except ImportError:
        pass

def take_away(module, *names):
    for name in names:
        if hasattr(module, name):
            delattr(module, name)
"""

# What Windows has of these modules is left; what its loops do not do is refused.
WINDOWS = """
LEFT = {
    "os": "O_APPEND O_BINARY O_CREAT O_EXCL O_RDONLY O_RDWR O_TRUNC O_WRONLY",
    "signal": "SIGABRT SIGFPE SIGILL SIGINT SIGSEGV SIGTERM SIG_DFL SIG_IGN",
}
for name in [name for name in dir(os) if name.startswith("O_") and name not in LEFT["os"].split()]:
    delattr(os, name)
take_away(
    os, *(
        "chown chroot ctermid fchdir fchown fork forkpty getegid geteuid getgid getgroups getloadavg getpgid getpgrp "
        "getpriority getresuid getsid getuid initgroups killpg lchown lockf mkfifo mknod nice openpty pathconf "
        "posix_fallocate posix_spawn pread preadv pwrite pwritev register_at_fork sendfile setegid "
        "seteuid setgid setpgid setsid setuid statvfs sync sysconf tcgetpgrp ttyname uname wait wait3 wait4 waitid"
    ).split(),
)
for name in [name for name in dir(signal) if name.startswith("SIG") and name not in LEFT["signal"].split()]:
    delattr(signal, name)
take_away(signal, "alarm", "pause", "pthread_kill", "pthread_sigmask", "setitimer", "siginterrupt", "sigwait")
take_away(socket, "SO_REUSEPORT", "sendmsg")
take_away(select, "epoll", "poll")
take_away(time, "clock_gettime", "clock_getres", "pthread_getcpuclockid", "tzset", "CLOCK_MONOTONIC")
for name in ("fcntl", "grp", "pty", "pwd", "resource", "termios", "tty"):
    sys.modules[name] = None
# A mode says no more there than that a file is read only.
os.chmod = lambda path, mode, **options: None

def missing(*args):
    raise NotImplementedError

for name in ("add_reader", "add_writer", "remove_reader", "remove_writer", "add_signal_handler",
             "create_unix_connection", "create_unix_server", "subprocess_exec", "subprocess_shell"):
    setattr(asyncio.SelectorEventLoop, name, missing)

def kill(*args):
    os._exit(86)

os.kill = kill
"""

# macOS is a POSIX without what Linux has beside that.
MACOS = """
take_away(
    os, *(
        "copy_file_range eventfd eventfd_read eventfd_write getrandom memfd_create pidfd_open posix_fadvise "
        "posix_fallocate setns setresuid splice unshare"
    ).split(),
)
take_away(select, "epoll")
take_away(signal, "SIGRTMAX", "SIGRTMIN", "SIGPOLL", "SIGPWR", "SIGSTKFLT", "sigtimedwait", "sigwaitinfo")
take_away(time, "pthread_getcpuclockid", "CLOCK_BOOTTIME", "CLOCK_TAI")
"""

# Outside of Linux there is no /proc.
REST = """
read_text = pathlib.Path.read_text

def read(path, *args, **kwargs):
    if path.is_relative_to("/proc"):
        raise FileNotFoundError(str(path))
    return read_text(path, *args, **kwargs)

pathlib.Path.read_text = read

import cmsapi

for module in pkgutil.walk_packages(cmsapi.__path__, "cmsapi."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)

import cmsapi.blocking
from cmsapi.cli.running import run
from cmsapi.sandbox import Fixed, Sandbox
from cmsapi.state.process import Owner

async def main():
    # On Windows any signal ends a process, so that none may be sent to find out whether it lives.
    assert not Owner(id="another", host=Owner.here().host, pid=os.getpid(), started=1).dead
    sandbox = Sandbox(durations=Fixed(0.5))
    url = f"sqlite:///{sys.argv[1]}"
    options = {"transport": sandbox.transport, "state": url}
    async with cmsapi.Client(sandbox.api_key, base_url=sandbox.base_url, **options) as client:
        await client.keywords.analyze(sandbox.keyword_ids[0])
    base_url = await sandbox.serve()
    async with cmsapi.Client(sandbox.api_key, base_url=base_url, state=url) as client:
        await client.keywords.analyze(sandbox.keyword_ids[1])
    await asyncio.to_thread(use_from_threads, sandbox, base_url, url)
    await sandbox.aclose()
    assert len(sandbox.ledger.launches()) == 4

def use_from_threads(sandbox, base_url, state):
    with cmsapi.blocking.Client(sandbox.api_key, base_url=base_url, state=state) as client:
        client.keywords.analyze(sandbox.keyword_ids[2])
    os.environ |= {"CMSAPI_API_KEY": sandbox.api_key, "CMSAPI_BASE_URL": base_url, "CMSAPI_STATE": state}
    assert run(["keywords", sandbox.workspace_id, "--csv"]) == 0
    assert run(["analyze", sandbox.keyword_ids[3]]) == 0

asyncio.run(main())
print("done")
"""


@pytest.mark.slow
@pytest.mark.enable_socket
@pytest.mark.parametrize("system", [WINDOWS, MACOS], ids=["windows", "macos"])
def test_nothing_needs_what_only_linux_has(tmp_path: Path, system: str) -> None:
    """Where the names are missing that other systems do not have, every module is imported, and clients work.

    They share a state in a file: an asynchronous client, a blocking one and the command line.
    """
    text = f"{LIBRARIES}{system}{REST}"
    program = [sys.executable, "-W", "ignore", "-c", text, str(tmp_path / "state.db")]
    done = subprocess.run(program, capture_output=True, text=True, timeout=100, check=False)
    assert (done.returncode, done.stdout.splitlines()[-1:]) == (0, ["done"]), done.stderr
