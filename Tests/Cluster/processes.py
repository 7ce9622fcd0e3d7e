"""Processes of the cluster, which end with the program that started them.

`guarded` runs a program in a child process. Parent and child adopt orphans (PR_SET_CHILD_SUBREAPER), because Patroni
detaches PostgreSQL from itself. If the child ends or crashes, the parent kills everything left; if the parent is
killed, the child gets SIGTERM and does the same. Every process is found by its ancestry, never by its name.
"""
import ctypes
import os
import pathlib
import signal
import subprocess
import sys
import time
import traceback

LIBC = ctypes.CDLL(None, use_errno=True)
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
CLONE_NEWNET = 0x40000000


class Failure(Exception):
    """An error whose message states the failed step; it needs no stack trace."""


class Stopped(BaseException):
    """The end that a signal asked for."""


def checked(result, step):
    if result != 0:
        number = ctypes.get_errno()
        raise Failure(f"{step}: {os.strerror(number)}")


# --- the guard


def guarded(run):
    """Runs a function in a child process and returns its exit status when all its descendants have ended."""
    checked(LIBC.prctl(PR_SET_CHILD_SUBREAPER, 1), "prctl")
    sys.stdout.flush()
    parent = os.getpid()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            status = _child(run, parent)
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, frame: os.kill(child, number))
    # Adopted orphans end here, too.
    ended, status = 0, 0
    while ended != child:
        ended, status = os.wait()
    kill_descendants()
    status = os.waitstatus_to_exitcode(status)
    return status if status >= 0 else 128 - status


def _child(run, parent):
    checked(LIBC.prctl(PR_SET_CHILD_SUBREAPER, 1), "prctl")
    checked(LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGTERM), "prctl")
    if os.getppid() != parent:
        return 1
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _stop)
    signal.signal(signal.SIGCHLD, _reap)
    try:
        return run() or 0
    except Failure as failure:
        print(f"error: {failure}", file=sys.stderr)
        return 1
    except Stopped:
        return 130
    except Exception:
        traceback.print_exc()
        return 1
    finally:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        kill_descendants()


def _stop(number, frame):
    # A second signal must not interrupt the end.
    for other in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(other, signal.SIG_IGN)
    raise Stopped


# --- ancestry


def descendants(root, table=None):
    """Returns the ids of all processes below `root`, parents first."""
    table = table or parents()
    found, level = [], [root]
    while level:
        level = [pid for pid, parent in table.items() if parent in level]
        found += level
    return found


def parents():
    """Returns the parent's id of each process."""
    table = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                fields = pathlib.Path("/proc", name, "stat").read_text(errors="replace").rpartition(")")[2].split()
            except OSError:
                continue
            table[int(name)] = int(fields[1])
    return table


def kill_descendants():
    """Kills all descendants, including those adopted in the course of it, and waits for their end."""
    while pids := descendants(os.getpid()):
        for pid in pids:
            send(pid, signal.SIGKILL)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            pass
        time.sleep(0.01)


def send(pid, number):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


# --- single processes

_exits = {}
_is_starting = False


def _reap(number=None, frame=None):
    """Waits for every ended child: those started here, and orphans that were adopted."""
    # While a process starts, an exit recorded for its id is that of an older one. `Process` calls this afterwards.
    if _is_starting:
        return
    try:
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            _exits[pid] = os.waitstatus_to_exitcode(status)
    except ChildProcessError:
        pass


class Process:
    """A program that runs as an unprivileged user, in a namespace if given, and dies with this one.

    Start processes from the main thread only: PR_SET_PDEATHSIG means the end of the thread that forked.
    """

    def __init__(self, command, log, user=None, namespace=None, environment=None):
        parent = os.getpid()

        def prepare():
            if namespace is not None:
                checked(LIBC.setns(namespace, CLONE_NEWNET), "setns")
            if user is not None:
                os.setgroups([])
                os.setgid(user.pw_gid)
                os.setuid(user.pw_uid)
            # After setuid, which clears it.
            checked(LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL), "prctl")
            if os.getppid() != parent:
                os._exit(1)

        global _is_starting
        _is_starting = True
        try:
            with open(log, "ab") as output:
                self.popen = subprocess.Popen(
                    [str(word) for word in command],
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    preexec_fn=prepare,
                    start_new_session=True,
                    env={"PATH": os.environ["PATH"], "LANG": "C.UTF-8", **(environment or {})},
                )
        except (OSError, subprocess.SubprocessError) as error:
            raise Failure(f"{command[0]} cannot be started: {error}") from None
        finally:
            self.pid = self.popen.pid if hasattr(self, "popen") else 0
            _exits.pop(self.pid, None)
            _is_starting = False
            _reap()
        # The handler waits for it, so Popen must not.
        self.popen.returncode = 0

    @property
    def status(self):
        """The exit status, or None while it runs."""
        return _exits.get(self.pid)

    @property
    def is_running(self):
        return self.status is None

    def wait(self, seconds):
        end = time.monotonic() + seconds
        while self.is_running and time.monotonic() < end:
            time.sleep(0.01)
        return self.status

    def tree(self):
        """Returns its id and those of its descendants, parents first."""
        return [self.pid, *descendants(self.pid)] if self.is_running else []

    def stop(self, seconds=5):
        """Ends it with SIGTERM, or with SIGKILL after a time."""
        if self.is_running:
            send(self.pid, signal.SIGTERM)
            if self.wait(seconds) is None:
                send(self.pid, signal.SIGKILL)
                self.wait(5)


def run(command, log, **more):
    """Runs a program to its end and returns its output; fails if its status is not 0."""
    seconds = more.pop("seconds", 60)
    start = log.stat().st_size if log.exists() else 0
    process = Process(command, log, **more)
    if process.wait(seconds) is None:
        process.stop(0)
        raise Failure(f"{command[0]} did not end within {seconds} s; see {log}")
    with open(log, "rb") as file:
        file.seek(start)
        output = file.read().decode(errors="replace")
    if process.status != 0:
        raise Failure(f"{' '.join(map(str, command))} failed with {process.status}: {output.strip()[-500:]}")
    return output
