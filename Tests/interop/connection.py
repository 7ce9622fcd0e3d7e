"""A connection to a server: TLS 1.3, frames and the channel binding."""

import ipaddress
import itertools
import socket

from cryptography import x509
from OpenSSL import SSL

import messages
import remote_pin as rp

VERSION = {"app_version": "1.0.0", "os_version": "16"}


class Refused(Exception):
    """The server answered with an error."""

    def __init__(self, error):
        self.code = messages.error_code(error.code)
        self.error = error
        super().__init__(f"{self.code} {error.reason} (correlation id {error.correlation_id})")


class Connection:
    """A connection to `address` (host, port) that trusts `ca_file` and requires a certificate for `name`."""

    def __init__(self, address, ca_file, name, platform):
        self.platform = platform
        context = SSL.Context(SSL.TLS_CLIENT_METHOD)
        context.set_min_proto_version(SSL.TLS1_3_VERSION)
        context.load_verify_locations(str(ca_file))
        context.set_verify(SSL.VERIFY_PEER, lambda _, __, ___, ____, ok: bool(ok))
        context.set_alpn_protos([b"remote-pin/1"])
        self.tls = SSL.Connection(context, socket.create_connection(address, timeout=20))
        # pyOpenSSL reports a timeout of the socket as "want read"; blocking is simpler.
        self.tls.setblocking(1)
        if not is_address(name):
            self.tls.set_tlsext_host_name(name.encode())
        self.tls.set_connect_state()
        self.tls.do_handshake()
        check_name(self.tls.get_peer_certificate(as_cryptography=True), name)
        if self.tls.get_alpn_proto_negotiated() != b"remote-pin/1":
            raise SystemExit("the server does not speak remote-pin/1")
        self.binding = self.tls.export_keying_material(b"EXPORTER-Channel-Binding", 32)
        self.ids = itertools.count(1)
        self.answers = {}

    def send(self, **call):
        """Sends a call without waiting for the answer; returns its id."""
        request = messages.Request(id=next(self.ids), **call)
        self.tls.sendall(rp.frame(request))
        return request.id

    def answer(self, call_id):
        """Returns the result of a call; raises Refused if the server rejected it."""
        while call_id not in self.answers:
            response = self.parsed(self.read(int.from_bytes(self.read(4), "big")))
            self.answers[response.id] = response
        response = self.answers.pop(call_id)
        kind = response.WhichOneof("result")
        if kind == "error":
            raise Refused(response.error)
        return getattr(response, kind)

    @staticmethod
    def parsed(frame):
        return messages.Response.FromString(frame)

    def call(self, **call):
        return self.answer(self.send(**call))

    def hello(self):
        return self.call(hello=messages.HelloRequest(platform=self.platform, **VERSION))

    def read(self, count):
        data = b""
        while len(data) < count:
            data += self.tls.recv(count - len(data))
        return data

    def is_closed_by_server(self):
        """Waits for the end of the connection; returns False if other data arrives."""
        try:
            return self.tls.recv(1) == b""
        except (SSL.ZeroReturnError, SSL.SysCallError):
            return True

    def close(self):
        try:
            self.tls.shutdown()
        except SSL.Error:
            pass
        self.tls.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def is_address(name):
    try:
        ipaddress.ip_address(name)
        return True
    except ValueError:
        return False


def check_name(certificate, name):
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    if is_address(name):
        matches = ipaddress.ip_address(name) in names.get_values_for_type(x509.IPAddress)
    else:
        matches = name in names.get_values_for_type(x509.DNSName)
    if not matches:
        raise SystemExit(f"the server's certificate is not for {name}")
