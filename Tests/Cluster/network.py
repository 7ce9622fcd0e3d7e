"""Places where nodes and servers run: the loopback interface, or a network namespace for each.

As root every place is a namespace behind one bridge, and the bridge is in a namespace as well. So all of it vanishes
with the processes, even after SIGKILL. The machine gets one interface, which leads to the bridge. A cut is made with
neighbor entries of an address that no interface has: packets are lost in silence, as in a broken network, and
no firewall is needed.
"""
import os
import socket

from processes import CLONE_NEWNET, LIBC, Failure, checked, run

NOWHERE = "02:00:00:00:00:00"


class Place:
    """An address, and the open namespace that has it (None for the machine's)."""

    def __init__(self, address, namespace=None, device=None):
        self.address, self.namespace, self.device = address, namespace, device

    def port(self, preferred):
        """Returns the preferred port, or a free one if the address is shared."""
        if self.namespace is not None:
            return preferred
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((self.address, 0))
            return probe.getsockname()[1]


class Loopback:
    """Places that share 127.0.0.1: needs no rights, and cannot be cut."""

    can_cut = False

    def __init__(self):
        self.machine = Place("127.0.0.1")

    def place(self):
        return self.machine


class Namespaces:
    """Places in separate namespaces, from 198.18.0.0/15 (RFC 2544: for tests of network devices)."""

    can_cut = True

    def __init__(self, log):
        self.log, self.count = log, 0
        self.hub = self._namespace()
        self._ip("link add hub type bridge", self.hub)
        self._ip("link set hub up", self.hub)
        device = f"pin{os.getpid()}"
        self._ip(f"link add {device} type veth peer name machine netns /proc/{os.getpid()}/fd/{self.hub}")
        self._ip("link set machine master hub up", self.hub)
        self.prefix = next(prefix for prefix in self._prefixes() if f" {prefix}." not in self._ip("-o -4 addr show"))
        self._ip(f"addr add {self.prefix}.1/24 dev {device}")
        self._ip(f"link set {device} up")
        self.machine = Place(f"{self.prefix}.1", None, device)

    @staticmethod
    def _prefixes():
        start = os.getpid() % 512
        for number in range(start, start + 512):
            yield f"198.{18 + number // 256 % 2}.{number % 256}"

    def place(self):
        self.count += 1
        address, namespace, name = f"{self.prefix}.{10 + self.count}", self._namespace(), f"place{self.count}"
        self._ip(f"link add {name} type veth peer name eth0 netns /proc/{os.getpid()}/fd/{namespace}", self.hub)
        self._ip(f"link set {name} master hub up", self.hub)
        self._ip("link set lo up", namespace)
        self._ip(f"addr add {address}/24 dev eth0", namespace)
        self._ip("link set eth0 up", namespace)
        # Ends connections that wait for a lost peer, such as pg_rewind's, which sets no time limit.
        for name, value in (("time", 10), ("intvl", 3), ("probes", 3)):
            run(["sysctl", "-qw", f"net.ipv4.tcp_keepalive_{name}={value}"], self.log, namespace=namespace)
        return Place(address, namespace, "eth0")

    def cut(self, one, others):
        """Loses all packets between one place and the others, in both directions."""
        for other in others:
            for source, target in ((one, other), (other, one)):
                self._neighbor(f"replace {target.address} lladdr {NOWHERE} nud permanent", source)

    def mend(self, one, others):
        for other in others:
            for source, target in ((one, other), (other, one)):
                self._neighbor(f"del {target.address}", source)

    def _neighbor(self, words, place):
        self._ip(f"neigh {words} dev {place.device}", place.namespace)

    def _ip(self, words, namespace=None):
        return run(["ip", *words.split()], self.log, namespace=namespace)

    @staticmethod
    def _namespace():
        """Makes a namespace that exists while it has processes or this program keeps it open."""
        own = os.open("/proc/self/ns/net", os.O_RDONLY)
        try:
            checked(LIBC.unshare(CLONE_NEWNET), "a network namespace cannot be made")
            return os.open("/proc/self/ns/net", os.O_RDONLY)
        finally:
            checked(LIBC.setns(own, CLONE_NEWNET), "setns")
            os.close(own)


def network(log, wants_namespaces):
    """Returns namespaces if this program may make them, and the loopback interface otherwise."""
    if wants_namespaces and os.geteuid() != 0:
        raise Failure("network namespaces need root; leave out --namespaces")
    return Namespaces(log) if wants_namespaces else Loopback()
