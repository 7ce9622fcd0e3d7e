#!/usr/bin/env python3
"""A PostgreSQL cluster with failovers on this machine: three etcd, three PostgreSQL under Patroni, servers, HAProxy.

    Tests/Cluster/run.py up [FOLDER]                makes a cluster and keeps it until Control-C
    Tests/Cluster/run.py status FOLDER
    Tests/Cluster/run.py fault FOLDER NAME [TARGET] injects a fault, for example "kill" or "kill node2"
    Tests/Cluster/run.py heal FOLDER [NAME]         undoes one fault or all, and waits for a healthy cluster
    Tests/Cluster/run.py wait FOLDER                waits for a healthy cluster
    Tests/Cluster/run.py test [FOLDER]              failovers under load; fails if an answered attempt is lost

Everything runs as an unprivileged user in one folder and ends with this program. As root with --namespaces, each node
and server has its own network, which can be cut. The servers are the reference server in this folder unless --server
gives another command. It may use {name}, {folder}, {address}, {readiness}, {database} and {service}.

Faults:
"""
import argparse
import json
import os
import pathlib
import shlex
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

from cluster import Cluster
from faults import FAULTS, Faults
from network import network
from processes import Failure, guarded, kill_descendants
from reference_wallets import Wallets

HERE = pathlib.Path(__file__).resolve().parent
CONTROL = "control.sock"
# Those that fit into three minutes. `cancel-kill` contains `cancel` and `kill`.
DEFAULT = "switchover server-kill server-freeze standby cancel-kill freeze"
DEFAULT_WITH_NETWORK = DEFAULT + " cut"
WALLETS_PER_CLIENT, CLIENTS, PAUSE = 4, 24, 0.03


class Progress:
    """Lines with the time since the start."""

    def __init__(self):
        self.start = time.monotonic()

    def __call__(self, text):
        print(f"[{time.monotonic() - self.start:5.1f} s] {text}", flush=True)


# --- up


def up(options):
    return with_cluster(options, stay)


def with_cluster(options, use):
    """Makes a cluster and uses it. Removes its folder, unless the folder was given or the use failed."""
    folder = pathlib.Path(options.folder or tempfile.mkdtemp(prefix="remote-pin-cluster.")).absolute()
    folder.mkdir(mode=0o700, exist_ok=True)
    if any(folder.iterdir()):
        raise Failure(f"{folder} is not empty")
    say, is_good, cluster = Progress(), False, None
    log = folder / "network.log"
    try:
        cluster = Cluster(folder, network(log, options.namespaces), options, say)
        cluster.start()
        say("the cluster is ready")
        status = use(cluster, say)
        is_good = status == 0
        return status
    except BaseException as error:
        is_good = not isinstance(error, Exception)
        if cluster and isinstance(error, Failure):
            print("\n".join(cluster.status()), file=sys.stderr)
        raise
    finally:
        kill_descendants()
        if is_good and not options.folder:
            shutil.rmtree(folder, ignore_errors=True)
        elif not is_good:
            print(f"the logs are in {folder}/logs", file=sys.stderr)


def stay(cluster, say):
    """Serves the other commands until a signal."""
    folder = cluster.folder
    print(
        f"""
folder     {folder}
wallets    127.0.0.1:{cluster.balancer_port} (HAProxy, {len(cluster.servers)} servers)
database   PGSERVICEFILE={folder}/pg_service.conf psql service=remote-pin
superuser  psql -h {folder}/node1 -p {cluster.nodes[0].port} -U postgres (also node2, node3)

Tests/Cluster/run.py status {folder}
Tests/Cluster/run.py fault {folder} kill
Tests/Cluster/run.py heal {folder}

Control-C ends it.""",
        flush=True,
    )
    faults = Faults(cluster)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(folder / CONTROL))
    os.chmod(folder / CONTROL, 0o600)
    listener.listen()
    while True:
        connection, _ = listener.accept()
        with connection, connection.makefile("rw") as stream:
            try:
                reply = {"lines": list(answer(cluster, faults, *json.loads(stream.readline())))}
            except Failure as failure:
                reply = {"error": str(failure)}
            except (ValueError, TypeError) as error:
                reply = {"error": f"bad request: {error}"}
            for line in reply.get("lines", []):
                say(line)
            try:
                stream.write(json.dumps(reply) + "\n")
                stream.flush()
            except BrokenPipeError:
                pass


def answer(cluster, faults, command, *arguments):
    if command == "status":
        yield from cluster.status()
        yield "faults in force: " + (", ".join(faults.active) or "none")
    elif command == "fault":
        yield faults.inject(*arguments)
    elif command == "heal":
        for name in faults.heal(*arguments):
            yield f"healed {name}"
        if not faults.active:
            cluster.wait_until_healthy()
            yield "the cluster is healthy"
    elif command == "wait":
        cluster.wait_until_healthy()
        yield "the cluster is healthy"
    else:
        raise Failure(f"no command '{command}'")


def ask(folder, *words):
    """Sends a command to the program that keeps the cluster, and prints its answer."""
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.connect(str(pathlib.Path(folder) / CONTROL))
    except OSError as error:
        raise Failure(f"no cluster is running in {folder}: {error.strerror}") from None
    with connection, connection.makefile("rw") as stream:
        stream.write(json.dumps([word for word in words if word is not None]) + "\n")
        stream.flush()
        reply = json.loads(stream.readline() or '{"error": "the cluster ended"}')
    if "error" in reply:
        raise Failure(reply["error"])
    print("\n".join(reply["lines"]))
    return 0


# --- test


def test(options):
    names = options.faults or (DEFAULT_WITH_NETWORK if options.namespaces else DEFAULT).split()
    if unknown := [name for name in names if name not in FAULTS]:
        raise Failure(f"no fault '{unknown[0]}'; there are {', '.join(FAULTS)}")
    return with_cluster(options, lambda cluster, say: rounds(cluster, say, names, options))


def rounds(cluster, say, names, options):
    """Injects the faults under load and measures the gap that clients see in each."""
    wallets = Wallets(cluster.balancer_port, CLIENTS, WALLETS_PER_CLIENT, PAUSE)
    wallets.start()
    faults, gaps = Faults(cluster), {name: [] for name in names}
    for name in names * options.rounds:
        if wallets.violations:
            break
        cluster.wait_until_healthy()
        cluster.wait_for("an answer to every client", lambda: wallets.are_served(time.monotonic() - 1), 30)
        time.sleep(1)
        start = time.monotonic()
        text = faults.inject(name)
        cluster.wait_for(
            f"an answer to every client after {name}",
            lambda: time.monotonic() > start + 3 and wallets.are_served(start + 2),
            90,
        )
        gaps[name].append(wallets.gap(start))
        say(f"{name}: {text}; clients waited {gaps[name][-1]:.1f} s")
        faults.heal()
    # Leaves the last healed part time to show a lost answer.
    time.sleep(3)
    wallets.is_ending = True
    wallets.join(30)
    return report(cluster, wallets, gaps)


def report(cluster, wallets, gaps):
    logs = "".join(path.read_text(errors="replace") for path in cluster.logs.glob("server*.log"))
    unknown = logs.count("outcome unknown")
    print(f"\n{'gap seen by clients':<22} rounds  median     max")
    for name, found in gaps.items():
        if found:
            print(f"{name:<22} {len(found):>6} {statistics.median(found):>5.1f} s {max(found):>5.1f} s")
    print(
        f"\n{wallets.answered} attempts answered, {wallets.repeated} repeated, {wallets.unavailable} unavailable;"
        f" {unknown} batches of unknown outcome, {logs.count('outcome unknown: warning')} of them by a warning"
    )
    problems = wallets.violations[:10]
    if wallets.is_alive():
        problems.append("not every wallet was answered at the end")
    # Otherwise the faults missed the commits, and the run proves nothing.
    if any(name.startswith("cancel") for name, found in gaps.items() if found) and "unknown: warning" not in logs:
        problems.append("no wait for a standby was cancelled")
    for problem in problems:
        print(f"VIOLATION: {problem}")
    print("failed" if problems else "no answered attempt was lost, and none was counted twice")
    return 1 if problems else 0


# --- arguments


def main():
    listed = "".join(f"    {name:<15} {' '.join(function.__doc__.split())}\n" for name, function in FAULTS.items())
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__ + listed, formatter_class=layout)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name in ("up", "test"):
        command = commands.add_parser(name)
        add_options(command)
        command.add_argument("folder", nargs="?", help="empty or new, and kept; a temporary one by default")
        if name == "test":
            command.add_argument("--faults", nargs="+", metavar="NAME", help="instead of those for three minutes")
            command.add_argument("--rounds", type=int, default=1)
            meaning = "leave out a rule of the reference server; the test must fail"
            command.add_argument("--break", dest="broken", action="append", default=[], metavar="RULE", help=meaning)
    for name, last in (("status", None), ("wait", None), ("heal", "name"), ("fault", "name")):
        command = commands.add_parser(name)
        command.add_argument("folder")
        if last:
            command.add_argument("name", nargs="?" if name == "heal" else None)
        if name == "fault":
            command.add_argument("target", nargs="*")
    options = parser.parse_args()
    if options.command in ("up", "test"):
        complete(options)
        sys.exit(guarded(lambda: (up if options.command == "up" else test)(options)))
    words = [options.folder, options.command, getattr(options, "name", None)]
    try:
        sys.exit(ask(*words, " ".join(getattr(options, "target", [])) or None))
    except Failure as failure:
        sys.exit(f"error: {failure}")


def add_options(command):
    command.add_argument("--namespaces", action="store_true", help="a network for each node and server; needs root")
    command.add_argument("--user", default="nobody", help="the user of all processes if this program is run by root")
    meaning = "Patroni's synchronous_mode"
    command.add_argument("--synchronous", default="quorum", choices=["quorum", "on", "off"], help=meaning)
    command.add_argument("--no-strict", dest="strict", action="store_false", help="synchronous_mode_strict: false")
    command.add_argument("--ttl", type=int, default=20, help="of the leader's key; Patroni's minimum is 20")
    command.add_argument("--loop-wait", type=int, default=5)
    command.add_argument("--retry", type=int, default=5)
    command.add_argument("--patroni", metavar="PROGRAM", help="instead of the version in requirements.txt")
    command.add_argument("--postgresql", default=newest_postgresql(), metavar="FOLDER", help="of its programs")
    command.add_argument("--servers", type=int, default=3)
    command.add_argument("--port", type=int, help="of the balancer; a free one by default")
    command.add_argument("--server", type=shlex.split, help="command of a server")
    command.add_argument("--prepare", type=shlex.split, help="command to run once before the servers")


def newest_postgresql():
    folders = pathlib.Path("/usr/lib/postgresql").glob("*/bin")
    return str(max(folders, key=lambda path: int(path.parent.name), default="/usr/lib/postgresql/15/bin"))


def complete(options):
    """Fills in Patroni of requirements.txt and the reference server."""
    options.synchronous = {"quorum": "quorum", "on": True, "off": False}[options.synchronous]
    python = HERE / ".venv/bin/python"
    if options.patroni is None:
        options.patroni = str(python.parent / "patroni")
        if not os.access(options.patroni, os.X_OK):
            # Debian's, because the cluster's user must be able to run it.
            subprocess.run(["/usr/bin/python3", "-m", "venv", HERE / ".venv"], check=True)
            pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
            subprocess.run([*pip, "--requirement", HERE / "requirements.txt"], check=True)
    if options.server is None:
        reference = ["/usr/bin/python3", "-u", str(HERE / "reference_server.py"), "--database", "{database}"]
        options.prepare = options.prepare or reference + ["--prepare", str(CLIENTS * WALLETS_PER_CLIENT)]
        options.server = reference + ["--name", "{name}", "--listen", "{address}", "--readiness", "{readiness}"]
        for rule in getattr(options, "broken", []):
            options.server += ["--break", rule]


main()
