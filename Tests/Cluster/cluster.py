"""Three machines with etcd, Patroni and PostgreSQL, application servers, and HAProxy in front of them."""
import csv
import io
import json
import os
import pathlib
import pwd
import secrets
import shutil
import socket
import time
import urllib.request

from node import DATABASE, ROLE, Node
from processes import Failure, Process, run


# RestartPreventExitStatus in the server's unit.
NEEDS_OPERATOR = (77, 78, 79)


class Server:
    """An application server, behind the balancer."""

    def __init__(self, cluster, name, store=None):
        self.cluster, self.name, self.place, self.store = cluster, name, cluster.network.place(), store
        self.folder = cluster.make_folder(name)
        self.port, self.ready_port = self.place.port(7400), self.place.port(9464)
        self.process = None
        # A fault keeps the server down.
        self.is_down = False

    def is_ready(self):
        try:
            with urllib.request.urlopen(f"http://{self.place.address}:{self.ready_port}/readyz", timeout=1) as answer:
                return answer.status == 200
        except OSError:
            return False

    def start(self):
        self.is_down = False
        key = self.folder / "vault.key"
        if not key.exists():
            shutil.copy(self.cluster.folder / "lab/server/vault.key", key)
            self.cluster.own(key, 0o600)
        settings = {
            **(self.store or self.cluster.store_settings()),
            "REMOTE_PIN_LISTEN_ADDRESS": f"{self.place.address}:{self.port}",
            "REMOTE_PIN_OBSERVATION_LISTEN": f"{self.place.address}:{self.ready_port}",
            "REMOTE_PIN_CLUSTER_SERVER": self.name,
            "REMOTE_PIN_ADMIN_SOCKET": str(self.folder / "admin.sock"),
            "REMOTE_PIN_PORTAL_SOCKET": "none",
            "REMOTE_PIN_AUDIT_FILE": str(self.folder / "audit.log"),
            "REMOTE_PIN_VAULT_KEY_FILE": str(key),
            "REMOTE_PIN_LOG_FILE": "none",
            "REMOTE_PIN_LOG_LEVEL": "notice",
            **getattr(self.cluster.options, "settings", {}),
        }
        command = [self.cluster.program("remote-pin-server"), "serve", self.cluster.folder / "lab"]
        self.process = self.cluster.spawn(self.name, command, self.place, settings)


class Cluster:
    """Everything, in one folder."""

    def __init__(self, folder, network, options, say=print):
        self.folder, self.network, self.options, self.say = folder, network, options, say
        self.user = pwd.getpwnam(options.user) if os.geteuid() == 0 else None
        self.logs = folder / "logs"
        self.own(folder, 0o700)
        self.make_folder("logs")
        self.secret = {name: secrets.token_hex(16) for name in ("postgres", "replicator", "rewind", "patroni", ROLE)}
        self.nodes = [Node(self, f"node{number}") for number in (1, 2, 3)]
        self.servers = [Server(self, f"server{number}") for number in range(1, options.servers + 1)]
        self.balancer = None
        self.balancer_port = network.machine.port(7400) if not options.port else options.port

    # Files

    def own(self, path, mode):
        path.chmod(mode)
        if self.user:
            os.chown(path, self.user.pw_uid, self.user.pw_gid)

    def make_folder(self, name):
        path = self.folder / name
        path.mkdir(exist_ok=True)
        self.own(path, 0o700)
        return path

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text)
        self.own(path, 0o600)
        return path

    def spawn(self, name, command, place, environment=None):
        log = self.logs / f"{name.replace('/', '-')}.log"
        return Process(command, log, self.user, place.namespace, {"HOME": str(self.folder), **(environment or {})})

    def run(self, command, environment=None, **more):
        environment = {"HOME": str(self.folder), **(environment or {})}
        return run(command, self.logs / "setup.log", user=self.user, environment=environment, **more)

    def program(self, name):
        """Returns the path of a copy of one of the project's programs, which the cluster's user can run."""
        path = self.folder / "programs" / name
        if not path.exists():
            path.parent.mkdir(exist_ok=True)
            shutil.copy(pathlib.Path(self.options.programs) / name, path)
        return path

    # Start

    def start(self):
        self.check_programs()
        self.make_certificates()
        self.say("starting three members of etcd")
        for node in self.nodes:
            node.configure()
            node.start_etcd()
        self.wait_for("a quorum of etcd", self.etcd_is_healthy, 30)
        self.say("starting three nodes of PostgreSQL under Patroni")
        for node in self.nodes:
            node.start()
        self.wait_until_healthy(120)
        self.make_database()
        self.start_servers()

    def check_programs(self):
        programs = ["etcd", "haproxy", "openssl", "psql", self.options.patroni, f"{self.options.postgresql}/initdb"]
        if self.servers:
            names = ("remote-pin-server", "remote-pin-lab", "pin-load")
            programs += [f"{self.options.programs}/{name}" for name in names]
        for program in programs:
            if not shutil.which(str(program)):
                raise Failure(f"{program} is not installed; run 'make cluster', which installs what is missing")

    def make_certificates(self):
        """Makes an authority and a certificate for each node's address, as `sslmode=verify-full` requires."""
        curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30"]
        authority = [self.folder / "ca.key", self.folder / "ca.pem"]
        subject = ["-subj", "/CN=cluster authority"]
        self.run(["openssl", "req", "-x509", *curve, "-keyout", authority[0], "-out", authority[1], *subject])
        for node in self.nodes:
            key, certificate, request = (node.folder / f"tls.{end}" for end in ("key", "pem", "csr"))
            self.run(["openssl", "req", *curve, "-keyout", key, "-out", request, "-subj", f"/CN={node.name}"])
            # Patroni calls its own PostgreSQL "localhost" if that listens on 127.0.0.1.
            names = self.write(f"{node.name}/tls.ext", f"subjectAltName=IP:{node.place.address},DNS:localhost\n")
            signing = ["-CA", authority[1], "-CAkey", authority[0], "-CAcreateserial", "-days", "30"]
            self.run(["openssl", "x509", "-req", "-in", request, *signing, "-extfile", names, "-out", certificate])

    def etcd_is_healthy(self):
        for node in self.nodes:
            try:
                with urllib.request.urlopen(f"{node.etcd_url}/health", timeout=1) as answer:
                    if json.load(answer)["health"] != "true":
                        return False
            except OSError:
                return False
        return True

    def make_database(self):
        """Makes the role of the servers, with no rights but on its own database, and that database."""
        primary = self.primary()
        primary.sql(f"create role {ROLE} login password '{self.secret[ROLE]}'")
        primary.sql(f"create database {DATABASE} owner {ROLE}")
        # A standby without the database ends libpq's search for the primary.
        count = f"select count(*) from pg_database where datname = '{DATABASE}'"
        self.wait_for("the database on every node", lambda: all(node.sql(count) == "1" for node in self.nodes), 10)
        hosts = ",".join(node.place.address for node in self.nodes)
        ports = ",".join(str(node.port) for node in self.nodes)
        entries = ":".join(["*", "*", DATABASE, ROLE, self.secret[ROLE]])
        parameters = {
            "host": hosts,
            "port": ports,
            "dbname": DATABASE,
            "user": ROLE,
            "passfile": self.write("pgpass", entries + "\n"),
            "target_session_attrs": "read-write",
            "sslmode": "verify-full",
            "sslrootcert": self.folder / "ca.pem",
            "channel_binding": "require",
            "gssencmode": "disable",
            "connect_timeout": 2,
            "tcp_user_timeout": 3000,
        }
        self.connection = " ".join(f"{name}={value}" for name, value in parameters.items())
        lines = [f"{name}={value}" for name, value in parameters.items()]
        self.write("pg_service.conf", "\n".join(["[remote-pin]", *lines, ""]))

    def start_servers(self):
        if not self.servers:
            return
        self.say(f"starting {len(self.servers)} servers and the balancer")
        server, lab = self.program("remote-pin-server"), self.folder / "lab"
        self.program("remote-pin-lab")
        self.run([server, "init", "--lab", lab])
        self.run([server, "store", "init", lab], environment=self.store_settings())
        for server in self.servers:
            server.start()
        # The balancer takes each server for ready until its first check.
        for server in self.servers:
            self.wait_for(f"{server.name} is ready", server.is_ready, 60)
        backends = "".join(
            f"  server {server.name} {server.place.address}:{server.port} check port {server.ready_port}\n"
            for server in self.servers
        )
        self.write("haproxy.cfg", BALANCER.format(folder=self.folder, port=self.balancer_port, backends=backends))
        command = ["haproxy", "-db", "-f", self.folder / "haproxy.cfg"]
        self.balancer = self.spawn("haproxy", command, self.network.machine)

    def store_settings(self):
        return {
            "REMOTE_PIN_STORE_KIND": "postgresql",
            "REMOTE_PIN_STORE_SERVICE": "remote-pin",
            "REMOTE_PIN_STORE_SERVICE_FILE": str(self.folder / "pg_service.conf"),
            "REMOTE_PIN_STORE_TIME_LIMIT": "3s",
        }

    # State

    def wait_for(self, what, condition, seconds):
        end = time.monotonic() + seconds
        while not (result := condition()):
            if time.monotonic() > end:
                raise Failure(f"{what}: not reached within {seconds} s; see {self.logs}")
            time.sleep(0.1)
        return result

    def members(self):
        """Returns the members by name, as most of the answering nodes see them.

        A node that was frozen or cut off remembers itself as the leader until its next look at etcd.
        """
        views = []
        for node in self.nodes:
            status, body = node.ask("/cluster")
            if status == 200:
                views.append({member["name"]: member for member in json.loads(body)["members"]})
        leaders = [leader(view) for view in views]
        return next((view for view in views if leaders.count(leader(view)) * 2 > len(views)), {})

    def primary(self):
        """Returns the node that is the primary, or None."""
        name = leader(self.members())
        node = next((node for node in self.nodes if node.name == name), None)
        return node if node and node.ask("/primary")[0] == 200 else None

    def known_primary(self):
        """Returns the primary, and waits for its answers: on a busy machine some are late."""
        return self.wait_for("a primary that answers", self.primary, 30)

    def standbys(self):
        """Returns the nodes that are not the primary, synchronous ones first."""
        primary, members = self.known_primary(), self.members()
        others = [node for node in self.nodes if node is not primary]
        return sorted(others, key=lambda node: "standby" not in members.get(node.name, {}).get("role", ""))

    def replication(self):
        """Returns the synchronous standbys that the primary names and has, and the number that stream from it."""
        primary = self.primary()
        if primary is None:
            raise Failure("no primary answers")
        names, synchronous, streaming = primary.sql(
            "select current_setting('synchronous_standby_names'), count(*) filter (where sync_state in ('sync',"
            " 'quorum')), count(*) from pg_stat_replication where state = 'streaming'"
        ).split("|")
        return names, int(synchronous), int(streaming)

    def is_healthy(self):
        """Returns whether both standbys stream, and PostgreSQL and etcd name as many synchronous ones as Patroni wants.

        Etcd is last. If the primary fails earlier, the cluster waits for it, or finds a synchronous standby later.
        """
        members = self.members().values()
        if len(members) != 3 or len({member.get("timeline") for member in members}) != 1:
            return False
        try:
            names, synchronous, streaming = self.replication()
        except Failure:
            return False
        wanted = {"quorum": 2, True: 1, False: 0}[self.options.synchronous]
        known = sum(member["role"] in ("sync_standby", "quorum_standby") for member in members)
        return "*" not in names and synchronous == known == wanted and streaming == 2

    def restart_servers(self):
        """Starts servers that have ended, as a service manager does, and returns what it did.

        A server ends if the database fails over while it starts. After some statuses an operator must act.
        """
        ended = [server for server in self.servers if not server.is_down and not server.process.is_running]
        restarted = []
        for server in ended:
            status = server.process.status
            if status in NEEDS_OPERATOR:
                continue
            server.start()
            restarted.append(f"started {server.name} again, which had ended with {status}")
        return restarted

    def wait_until_healthy(self, seconds=240):
        self.wait_for("a primary with two streaming standbys that are synchronous", self.is_healthy, seconds)

    def connections(self):
        """Returns the number of clients of each server, as the balancer counts them."""
        with socket.socket(socket.AF_UNIX) as stream:
            stream.connect(str(self.folder / "haproxy.sock"))
            stream.sendall(b"show stat\n")
            text = b"".join(iter(lambda: stream.recv(65536), b"")).decode()
        rows = csv.DictReader(io.StringIO(text.lstrip("# ")))
        return {row["svname"]: int(row["scur"] or 0) for row in rows if row["pxname"] == "servers"}

    def status(self):
        """Returns the state as lines of text."""
        members = self.members()
        for node in self.nodes:
            member = members.get(node.name, {})
            role, state = member.get("role", "unknown"), member.get("state", "not running")
            yield f"{node.name:<9} {node.place.address}:{node.port:<6} {role:<15} {state:<12} " + (
                f"timeline {member.get('timeline', '-')}, lag {member.get('lag', 0)}"
            )
        try:
            names, synchronous, streaming = self.replication()
            yield f"synchronous_standby_names = '{names}', {synchronous} synchronous, {streaming} streaming"
        except Failure as failure:
            yield str(failure)
        counts = self.connections() if self.balancer and self.balancer.is_running else {}
        for server in self.servers:
            state = "running" if server.process and server.process.is_running else "not running"
            place = f"{server.place.address}:{server.port:<6}"
            yield f"{server.name:<9} {place} {state:<15} {counts.get(server.name, '-')} connections"


def leader(members):
    return next((name for name, member in members.items() if member["role"] == "leader"), None)


BALANCER = """\
global
  stats socket {folder}/haproxy.sock mode 600
defaults
  mode tcp
  timeout connect 1s
  timeout client 1h
  timeout server 1h
  timeout check 500ms
  retries 2
  option redispatch 1
frontend wallets
  bind 127.0.0.1:{port}
  default_backend servers
backend servers
  balance leastconn
  option httpchk GET /readyz
  # A frozen server keeps its connections open: the balancer closes them when it is found.
  default-server inter 300ms fall 2 rise 1 on-marked-down shutdown-sessions
{backends}"""
