#!/usr/bin/env python3
"""A PostgreSQL cluster with failovers on this machine: three etcd, three PostgreSQL under Patroni, servers, HAProxy.

    Tests/Cluster/run.py up [FOLDER]                makes a cluster and keeps it until Control-C
    Tests/Cluster/run.py status FOLDER
    Tests/Cluster/run.py fault FOLDER NAME [TARGET] injects a fault, for example "kill" or "kill node2"
    Tests/Cluster/run.py heal FOLDER [NAME]         undoes one fault or all, and waits for a healthy cluster
    Tests/Cluster/run.py wait FOLDER                waits for a healthy cluster
    Tests/Cluster/run.py test [FOLDER]              rotates the vault's keys, and runs `pin-load prove`,
                                                    with such faults; fails if a promise is broken

The servers are processes of one lab on one database. Everything runs in one folder, the cluster as an unprivileged
user, and ends with this program. As root with --namespaces, each node and server has its own network, which can be
cut. Needs remote-pin-server, remote-pin-lab, pin-load and, for the test, wallet (--programs).

Faults:
"""
import argparse
import atexit
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time

from cluster import Cluster
from faults import FAULTS, Faults
from network import network
from processes import Failure, Process, guarded, kill_descendants
from rotation import Rotation

HERE = pathlib.Path(__file__).resolve().parent
CONTROL = "control.sock"
FAULTS_OF_TEST = "switchover server-kill server-freeze standby cancel cancel-kill kill freeze"
WITH_NETWORK = " cut server-cut"
NEED_NETWORKS = ("cut", "isolate", "server-cut")


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
    obey(cluster, say, lambda: False)


def obey(cluster, say, is_over):
    """Carries out the other commands until the end."""
    faults = Faults(cluster)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(cluster.folder / CONTROL))
    cluster.own(cluster.folder / CONTROL, 0o600)
    listener.listen()
    listener.settimeout(0.2)
    while not is_over():
        try:
            connection, _ = listener.accept()
        except TimeoutError:
            for line in cluster.restart_servers():
                say(line)
            continue
        connection.settimeout(None)
        with connection:
            try:
                with connection.makefile() as stream:
                    request = stream.readline()
                reply = {"lines": list(answer(cluster, faults, *json.loads(request)))}
                lines = reply["lines"]
            except Failure as failure:
                reply, lines = {"error": str(failure)}, [f"error: {failure}"]
            except (ValueError, TypeError) as error:
                reply, lines = {"error": f"bad request: {error}"}, []
            for line in lines:
                say(line)
            try:
                connection.sendall(json.dumps(reply).encode() + b"\n")
            except OSError:
                say("the program that asked is gone")


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
    names = options.faults or (FAULTS_OF_TEST + (WITH_NETWORK if options.namespaces else "")).split()
    if names == ["all"]:
        names = [name for name in FAULTS if options.namespaces or name not in NEED_NETWORKS]
    if unknown := [name for name in names if name not in FAULTS]:
        raise Failure(f"no fault '{unknown[0]}'; there are {', '.join(FAULTS)}")

    def use(cluster, say):
        if len(cluster.servers) > 2 and (findings := Rotation(cluster, say).run()):
            say(f"a rotation of the vault's keys looks like tampering to wallets ({findings} findings)")
            return 1
        return 0 if options.duration == "0" else prove(cluster, say, names, options)

    return with_cluster(options, use)


def prove(cluster, say, names, options):
    """Runs `pin-load prove` through the balancer, with these faults and with revocations."""
    folder = cluster.folder
    target = ["--address", f"127.0.0.1:{cluster.balancer_port}", "--server-name", "localhost"]
    target += ["--ca", folder / "lab/authority/tls-ca.pem", "--wallets"]
    say("registering wallets")
    pin_load = cluster.program("pin-load")
    authority = ["--authority", folder / "lab/authority", "--out", folder / "wallets"]
    cluster.run([pin_load, "provision", *target, str(options.wallets), *authority], seconds=300)
    hook = cluster.write("fault-hook", HOOK.format(names=" ".join(names), run=HERE / "run.py", folder=folder))
    server_names = " ".join(server.name for server in cluster.servers)
    server = cluster.program("remote-pin-server")
    revoke = cluster.write("revoke", REVOKE.format(servers=server_names, program=server, folder=folder))
    say(f"proving for {options.duration}, with {', '.join(names)}")
    command = [pin_load, "prove", *target, folder / "wallets", "--duration", options.duration, "--timeout", "8s"]
    command += ["--connections", str(options.connections)]
    command += ["--fault-hook", f"sh {hook}", "--fault-every", "5s", "--fault-for", options.fault_for]
    command += ["--revoke-with", f"sh {revoke}", "--revoke-every", "10s", "--out", folder / "proof"]
    # pin-load runs as the user of this program, because that user can read the folder of the fault hook.
    process = Process(command, cluster.logs / "pin-load.log")
    obey(cluster, say, lambda: not process.is_running)
    text = (cluster.logs / "pin-load.log").read_text(errors="replace")
    print(text[max(0, text.rfind("\ncompleted")) :])
    if process.status == 0:
        say("every promise was kept")
    else:
        # Again at the end, since a long output may be shortened in its middle.
        lines = text.splitlines()
        reasons = [" ".join(lines[index : index + 2]) for index, line in enumerate(lines) if "FAILED" in line]
        say("\n  ".join([f"pin-load ended with {process.status}", *(reasons or lines[-1:])]))
    if options.folder:
        say(f"the report is in {folder}/proof")
    return process.status


HOOK = """\
case $1 in
list) printf '%s\\n' {names} ;;
heal) exec {run} heal {folder} ;;
*) exec {run} fault {folder} "$1" ;;
esac
"""
# Any server revokes for all. None can while the database fails over, and a repeated revocation changes nothing.
REVOKE = """\
for attempt in $(seq 60); do
    for server in {servers}; do
        timeout 10 {program} admin revoke wallet "$1" --socket {folder}/$server/admin.sock && exit
    done
    sleep 1
done
exit 1
"""


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
            meaning = "instead of most of them; `all` for every one"
            command.add_argument("--faults", nargs="+", metavar="NAME", help=meaning)
            command.add_argument("--duration", default="2m", help="of the load, such as 10m; 0 for the rotation only")
            meaning = "connections that the load uses"
            command.add_argument("--connections", type=int, default=16, metavar="N", help=meaning)
            meaning = "wallets that the load uses; six of them are revoked each minute"
            command.add_argument("--wallets", type=int, default=200, metavar="N", help=meaning)
            meaning = "mean time until a fault is healed; a failover takes 20 s"
            command.add_argument("--fault-for", default="3s", metavar="DURATION", help=meaning)
    for name, last in (("status", None), ("wait", None), ("heal", "name"), ("fault", "name")):
        command = commands.add_parser(name)
        command.add_argument("folder")
        if last:
            command.add_argument("name", nargs="?" if name == "heal" else None)
        if name == "fault":
            command.add_argument("target", nargs="*")
    options = parser.parse_args()
    if use := {"up": up, "test": test}.get(options.command):
        complete(options)
        sys.exit(guarded(lambda: use(options)))
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
    programs = HERE.parent.parent / ".build/debug"
    command.add_argument("--programs", default=str(programs), metavar="FOLDER", help="of the servers and pin-load")


def newest_postgresql():
    folders = pathlib.Path("/usr/lib/postgresql").glob("*/bin")
    return str(max(folders, key=lambda path: int(path.parent.name), default="/usr/lib/postgresql/15/bin"))


def environment_folder():
    """Returns the folder of Patroni's virtual environment, which the cluster's user must be able to read."""
    if os.geteuid() != 0 or all(parent.stat().st_mode & 0o005 == 0o005 for parent in [HERE, *HERE.parents]):
        return HERE / ".venv"
    folder = pathlib.Path(tempfile.mkdtemp(prefix="remote-pin-patroni."))
    folder.chmod(0o755)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def complete(options):
    """Fills in Patroni: that of requirements.txt, or Debian's if PyPI cannot be reached."""
    options.synchronous = {"quorum": "quorum", "on": True, "off": False}[options.synchronous]
    if options.patroni is not None:
        return
    python = environment_folder() / "bin/python"
    options.patroni = str(python.parent / "patroni")
    if os.access(options.patroni, os.X_OK):
        return
    # Debian's Python, because the cluster's user must be able to run it.
    subprocess.run(["/usr/bin/python3", "-m", "venv", python.parent.parent], check=True)
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    if subprocess.run([*pip, "--requirement", HERE / "requirements.txt"]).returncode != 0:
        options.patroni = shutil.which("patroni")
        if not options.patroni:
            sys.exit("error: Patroni can be installed neither by pip nor by apt")
        # Debian 12's version has no mode "quorum".
        options.synchronous = options.synchronous and True
        print(f"Patroni of requirements.txt cannot be installed; using {options.patroni}", flush=True)


if __name__ == "__main__":
    main()
