"""Connections that fill a server's table, and phones that connect meanwhile."""
import random
import select
import socket
import ssl
import threading
import time

ROUND_TRIP = 0.1
# Request { id: 1, hello { app_version: "1.0.0", platform: 1, os_version: "16" } } and
# Request { id: 2, begin_enrollment {} }, with the length of each frame.
HELLO = bytes.fromhex("00000011 0801 120d 0a05312e302e30 1001 1a023136")
BEGIN_ENROLLMENT = bytes.fromhex("00000004 0802 1a00")


def any_address():
    """Returns a random address of this machine, other than the ones that tests name."""
    return f"127.{random.randrange(1, 255)}.{random.randrange(256)}.{random.randrange(1, 255)}"


def tls_context():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_alpn_protocols(["remote-pin/1"])
    return context


class Crowd:
    """Connections with a completed handshake and no session, which are opened again when the server closes them.

    Four threads open `rate` connections a second together and hold up to `most`. Each calls `source` with its number
    for the address of each connection, and sends `calls` on it.
    """

    THREADS = 4

    def __init__(self, port, source, most, rate, calls=b""):
        self.port, self.source, self.calls = port, source, calls
        self.each, self.pause, self.is_over = most // self.THREADS, self.THREADS / rate, False
        self.context = tls_context()
        self.threads = [threading.Thread(target=self.flood, args=(number,)) for number in range(self.THREADS)]
        for thread in self.threads:
            thread.start()

    def flood(self, thread):
        held, closed, due = {}, select.poll(), time.monotonic()
        while not self.is_over:
            for number, _ in closed.poll(0):
                # Only an end is expected, or the tickets that follow a handshake and the answers.
                try:
                    is_open = bool(held[number].recv(4096))
                except ssl.SSLWantReadError:
                    is_open = True
                except OSError:
                    is_open = False
                if not is_open:
                    closed.unregister(number)
                    held.pop(number).close()
            if len(held) < self.each:
                try:
                    plain = socket.create_connection(
                        ("127.0.0.1", self.port), timeout=5, source_address=(self.source(thread), 0)
                    )
                    client = self.context.wrap_socket(plain)
                    client.sendall(self.calls)
                    client.setblocking(False)
                    held[client.fileno()] = client
                    closed.register(client, select.POLLIN)
                except OSError:
                    pass
            due += self.pause
            time.sleep(max(0, due - time.monotonic()))
            # A machine that was slow does not make up for more than a second.
            due = max(due, time.monotonic() - 1)
        for client in held.values():
            client.close()

    def end(self):
        self.is_over = True
        for thread in self.threads:
            thread.join()


class Phones:
    """Phones of several kinds that connect at constant rates and make their last call on the first connection.

    A kind has an address, the seconds until its last call, and the phones per second. A phone connects, says hello and
    makes its last call, with round trips of 100 ms. The last call of an unlock is OpenSession, that of an enrollment is
    Register. A call that needs no wallet replaces both.
    """

    def __init__(self, port, kinds):
        self.port, self.kinds, self.context = port, kinds, tls_context()
        # Whether each phone's last call was answered.
        self.results = {name: [] for name in kinds}

    def run(self, seconds):
        """Starts phones for this time and returns once all have ended."""
        start, phones = time.monotonic(), []
        calls = sorted(
            (number / rate, name)
            for name, (_, _, rate) in self.kinds.items()
            for number in range(int(seconds * rate))
        )
        for due, name in calls:
            time.sleep(max(0, start + due - time.monotonic()))
            phones.append(threading.Thread(target=self.phone, args=(name,)))
            phones[-1].start()
        for phone in phones:
            phone.join()

    def phone(self, name):
        address, duration, _ = self.kinds[name]
        try:
            self.results[name].append(self.is_served(address, time.monotonic() + duration))
        except OSError:
            self.results[name].append(False)

    def is_served(self, address, last_call):
        with socket.create_connection(("127.0.0.1", self.port), timeout=20, source_address=(address, 0)) as plain:
            time.sleep(ROUND_TRIP)
            with self.context.wrap_socket(plain) as client:
                time.sleep(ROUND_TRIP)
                client.sendall(HELLO)
                if not client.recv(4096):
                    return False
                time.sleep(max(0, last_call - time.monotonic()))
                client.sendall(BEGIN_ENROLLMENT)
                return bool(client.recv(4096))

    def share(self, name):
        """Returns the share of the phones of a kind whose last call was answered, in whole percent."""
        return 100 * sum(self.results[name]) // max(1, len(self.results[name]))
