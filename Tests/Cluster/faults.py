"""Faults of a cluster, each with its undoing: a generator that injects, yields what it did, and then heals."""
import signal
import time

from node import FAKE_CLOCK
from processes import Failure, send

FAULTS = {}


def fault(name):
    """Registers a fault under a name; its documentation is the help."""

    def register(function):
        FAULTS[name] = function
        return function

    return register


class Faults:
    """The faults that are in force in one cluster."""

    def __init__(self, cluster):
        self.cluster, self.active = cluster, {}

    def inject(self, name, target=None):
        """Injects a fault and returns what it did. A fault that needs no undoing is over at once."""
        if name not in FAULTS:
            raise Failure(f"no fault '{name}'; there are {', '.join(FAULTS)}")
        if name in self.active:
            raise Failure(f"fault '{name}' is in force; heal it first")
        steps = FAULTS[name](self.cluster, target)
        text = next(steps)
        self.active[name] = steps
        return text

    def heal(self, name=None):
        """Undoes one fault or all, latest first, and returns the names."""
        if name is not None and name not in self.active:
            raise Failure(f"fault '{name}' is not in force")
        healed = [name] if name else list(reversed(self.active))
        for name in healed:
            for _ in self.active.pop(name):
                pass
        return healed


def node(cluster, target, otherwise):
    """Returns the node of a name, or the one that `otherwise` finds."""
    found = next((node for node in cluster.nodes if node.name == target), None) if target else otherwise()
    if found is None:
        raise Failure(f"no node '{target}'")
    return found


def server(cluster, target):
    """Returns the server of a name, or the one with most clients."""
    running = [server for server in cluster.servers if server.process.is_running and target in (None, server.name)]
    if not running:
        raise Failure(f"no running server '{target}'" if target else "no server is running")
    counts = cluster.connections()
    return max(running, key=lambda server: counts.get(server.name, 0))


def network(cluster):
    if not cluster.network.can_cut:
        raise Failure("without network namespaces nothing can be cut; start the cluster as root with --namespaces")
    return cluster.network


# --- the primary


@fault("kill")
def kill(cluster, target):
    """the primary's host dies: SIGKILL of its Patroni and PostgreSQL"""
    primary = node(cluster, target, cluster.known_primary)
    primary.kill()
    yield f"killed Patroni and PostgreSQL of {primary.name}"
    primary.start()


@fault("freeze")
def freeze(cluster, target):
    """the primary's host stops: SIGSTOP of its Patroni and PostgreSQL; thawed by heal"""
    primary = node(cluster, target, cluster.known_primary)
    primary.signal(signal.SIGSTOP)
    yield f"froze Patroni and PostgreSQL of {primary.name}"
    primary.signal(signal.SIGCONT)


@fault("switchover")
def switchover(cluster, target):
    """an orderly change of the primary, as before maintenance"""
    primary = node(cluster, None, cluster.known_primary)
    candidate = node(cluster, target, lambda: cluster.standbys()[0])
    status, body = primary.ask("/switchover", {"leader": primary.name, "candidate": candidate.name}, seconds=60)
    if status != 200:
        raise Failure(f"switchover from {primary.name} to {candidate.name}: {status} {body}")
    yield f"switched from {primary.name} to {candidate.name}"


# --- standbys


@fault("standby")
def lost_standby(cluster, target):
    """a synchronous standby dies: SIGKILL of its Patroni and PostgreSQL"""
    standby = node(cluster, target, lambda: cluster.standbys()[0])
    standby.kill()
    yield f"killed Patroni and PostgreSQL of the standby {standby.name}"
    standby.start()


@fault("standbys")
def lost_standbys(cluster, target):
    """both standbys die; no commit can be acknowledged until heal"""
    standbys = cluster.standbys()
    for standby in standbys:
        standby.kill()
    yield f"killed Patroni and PostgreSQL of {' and '.join(standby.name for standby in standbys)}"
    for standby in standbys:
        standby.start()


def cancel_waits(cluster, primary, seconds=10):
    """Stops replication, waits for commits that wait for a standby, cancels the waits; returns senders and number."""
    senders = primary.database_processes("walsender")
    for pid in senders:
        send(pid, signal.SIGSTOP)
    try:
        cancel = (
            "select count(pg_cancel_backend(pid)) from pg_stat_activity"
            " where wait_event = 'SyncRep' and backend_type = 'client backend'"
        )
        end, cancelled = time.monotonic() + seconds, 0
        while cancelled == 0 and time.monotonic() < end:
            cancelled = int(primary.sql(cancel))
            time.sleep(0.05)
        return senders, cancelled
    except Failure:
        release(senders)
        raise


def release(senders):
    for pid in senders:
        send(pid, signal.SIGCONT)


@fault("cancel")
def cancel(cluster, target):
    """commits wait for a standby, and an operator cancels the waits: they are on the primary only"""
    senders, cancelled = cancel_waits(cluster, node(cluster, None, cluster.known_primary))
    release(senders)
    yield f"cancelled {cancelled} waits for a standby"


@fault("cancel-kill")
def cancel_and_kill(cluster, target):
    """cancelled waits, and then the primary's host dies: the cancelled commits are lost"""
    primary = node(cluster, None, cluster.known_primary)
    senders, cancelled = cancel_waits(cluster, primary)
    # Long enough for an answer that must not be given.
    time.sleep(0.5)
    primary.kill()
    yield f"cancelled {cancelled} waits for a standby, then killed {primary.name}"
    primary.start()


# --- the network


@fault("cut")
def cut(cluster, target):
    """the primary loses the other nodes, and the servers still reach it"""
    primary = node(cluster, target, cluster.known_primary)
    others = [other.place for other in cluster.nodes if other is not primary]
    network(cluster).cut(primary.place, others)
    yield f"cut {primary.name} off from the other nodes"
    network(cluster).mend(primary.place, others)


@fault("isolate")
def isolate(cluster, target):
    """the primary loses everything"""
    primary = node(cluster, target, cluster.known_primary)
    places = [cluster.network.machine, *(server.place for server in cluster.servers)]
    others = places + [other.place for other in cluster.nodes if other is not primary]
    network(cluster).cut(primary.place, others)
    yield f"cut {primary.name} off from everything"
    network(cluster).mend(primary.place, others)


# --- the clock


@fault("clock")
def clock(cluster, target):
    """the clock of a standby's PostgreSQL is an hour ahead; "clock node2 -60" moves another one"""
    if not FAKE_CLOCK:
        raise Failure("libfaketime is not installed (Debian package faketime)")
    name, _, seconds = (target or "").partition(" ")
    moved, offset = node(cluster, name or None, lambda: cluster.standbys()[0]), int(seconds or 3600)
    set_clock(cluster, moved, offset)
    yield f"moved the clock of {moved.name}'s PostgreSQL by {offset:+d} s"
    set_clock(cluster, moved, 0)


def set_clock(cluster, moved, offset):
    cluster.write(f"{moved.name}/clock", f"{offset:+d}")

    def is_moved():
        return abs(float(moved.sql("select extract(epoch from clock_timestamp())")) - time.time() - offset) < 2

    cluster.wait_for(f"a clock that is off by {offset} s", is_moved, 10)


# --- servers


@fault("server-kill")
def server_kill(cluster, target):
    """a server dies: SIGKILL"""
    victim = server(cluster, target)
    victim.is_down = True
    send(victim.process.pid, signal.SIGKILL)
    victim.process.wait(5)
    yield f"killed {victim.name}"
    victim.start()


@fault("server-freeze")
def server_freeze(cluster, target):
    """a server stops: SIGSTOP; thawed by heal"""
    victim = server(cluster, target)
    pids = victim.process.tree()
    for pid in pids:
        send(pid, signal.SIGSTOP)
    yield f"froze {victim.name}"
    for pid in pids:
        send(pid, signal.SIGCONT)


@fault("server-cut")
def server_cut(cluster, target):
    """a server loses the database, and the balancer still reaches it"""
    victim = server(cluster, target)
    nodes = [node.place for node in cluster.nodes]
    network(cluster).cut(victim.place, nodes)
    yield f"cut {victim.name} off from the database"
    network(cluster).mend(victim.place, nodes)
