"""A simulated Android phone: a hardware key with an attestation issued by the test authority of a lab.

The format is Android's (the AOSP schema `KeyDescription`); only the root certificate is the lab's.
"""

import datetime
import pathlib
import re

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID, ObjectIdentifier

import remote_pin as rp

ATTESTATION = ObjectIdentifier("1.3.6.1.4.1.11129.2.1.17")


def der(tag, content):
    """Returns a DER element; `tag` has the identifier octets."""
    count = len(content)
    if count < 0x80:
        length = bytes([count])
    else:
        digits = count.to_bytes((count.bit_length() + 7) // 8, "big")
        length = bytes([0x80 | len(digits)]) + digits
    return tag + length + content


def integer(number, tag=b"\x02"):
    return der(tag, number.to_bytes(number.bit_length() // 8 + 1, "big"))


def enumerated(number):
    return integer(number, b"\x0a")


def octets(content):
    return der(b"\x04", content)


def sequence(*parts):
    return der(b"\x30", b"".join(parts))


def set_of(*parts):
    return der(b"\x31", b"".join(sorted(parts)))


def property_of_key(number, value):
    """Returns an entry of an authorization list: [number] EXPLICIT value."""
    if number < 31:
        return der(bytes([0xA0 | number]), value)
    digits = [number & 0x7F]
    while number := number >> 7:
        digits.insert(0, number & 0x7F | 0x80)
    return der(bytes([0xBF, *digits]), value)


def key_description(challenge, package, signing_digest, version_code):
    trusted_environment, version = 1, 300
    application = sequence(
        set_of(sequence(octets(package.encode()), integer(version_code))), set_of(octets(signing_digest))
    )
    root_of_trust = sequence(octets(rp.sha256(b"boot key")), der(b"\x01", b"\xff"), enumerated(0), octets(bytes(32)))
    by_system = sequence(property_of_key(709, octets(application)))
    by_hardware = sequence(
        property_of_key(1, set_of(integer(2))),  # purpose: SIGN
        property_of_key(2, integer(3)),  # algorithm: EC
        property_of_key(3, integer(256)),
        property_of_key(5, set_of(integer(4))),  # digest: SHA-256
        property_of_key(10, integer(1)),  # curve: P-256
        property_of_key(503, der(b"\x05", b"")),
        property_of_key(702, integer(0)),  # origin: GENERATED
        property_of_key(704, root_of_trust),
        property_of_key(705, integer(160000)),
        property_of_key(706, integer(202610)),
        property_of_key(718, integer(20261005)),
        property_of_key(719, integer(20261005)),
    )
    return sequence(
        integer(version),
        enumerated(trusted_environment),
        integer(version),
        enumerated(trusted_environment),
        octets(challenge),
        octets(b""),
        by_system,
        by_hardware,
    )


class AndroidPhone:
    """A phone with a hardware key; `authority` and `server` are folders of the lab."""

    def __init__(self, authority, server):
        self.authority = pathlib.Path(authority)
        self.key = ec.generate_private_key(ec.SECP256R1())
        configuration = (pathlib.Path(server) / "server.yaml").read_text()
        app = re.search(r"([A-Za-z][\w.]*):([0-9a-fA-F]{64})", configuration)
        if app is None:
            raise SystemExit("the lab's server accepts no Android app")
        self.package, self.signing_digest = app[1], bytes.fromhex(app[2])

    def certificate(self, name):
        return x509.load_pem_x509_certificate((self.authority / f"{name}.pem").read_bytes())

    def attest(self, challenge):
        """Returns the certificate chain of the hardware key, DER, leaf first."""
        issuer = self.certificate("android-batch")
        issuer_key = serialization.load_pem_private_key(
            (self.authority / "android-batch.key.pem").read_bytes(), password=None
        )
        description = key_description(challenge, self.package, self.signing_digest, 100)
        leaf = (
            x509.CertificateBuilder()
            .serial_number(1)
            .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Android Keystore Key")]))
            .issuer_name(issuer.subject)
            .not_valid_before(datetime.datetime(1970, 1, 1))
            .not_valid_after(datetime.datetime(2048, 1, 1))
            .public_key(self.key.public_key())
            .add_extension(x509.UnrecognizedExtension(ATTESTATION, description), critical=False)
            .sign(issuer_key, hashes.SHA256())
        )
        chain = [leaf, issuer, self.certificate("android-intermediate"), self.certificate("android-root")]
        return [certificate.public_bytes(serialization.Encoding.DER) for certificate in chain]

    def prove(self, message):
        """Returns a signature by the hardware key."""
        return rp.sign(self.key, message)
