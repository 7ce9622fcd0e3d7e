"""Simulated phones: a hardware key with an attestation issued by the test authority of a lab.

The formats are the vendors' (Android: the AOSP schema `KeyDescription`; iOS: App Attest). Only the root certificates
are the lab's.
"""

import datetime
import pathlib
import re

import cbor2
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID, ObjectIdentifier

import remote_pin as rp


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


class Phone:
    """A phone with a hardware key; `authority` and `server` are folders of the lab."""

    def __init__(self, authority, server):
        self.authority = pathlib.Path(authority)
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.configuration = (pathlib.Path(server) / "server.yaml").read_text()

    def accepted_app(self, pattern):
        app = re.search(r"^  apps: \['?" + pattern, self.configuration, re.MULTILINE)
        if app is None:
            raise SystemExit(f"the lab's server accepts no app for {type(self).__name__}")
        return app

    def certificate(self, name):
        return x509.load_pem_x509_certificate((self.authority / f"{name}.pem").read_bytes())

    def leaf(self, subject, issuer, extension, value):
        """Returns a certificate of the hardware key, issued by this authority of the lab, DER."""
        issuer_key = serialization.load_pem_private_key(
            (self.authority / f"{issuer}.key.pem").read_bytes(), password=None
        )
        leaf = (
            x509.CertificateBuilder()
            .serial_number(1)
            .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, subject)]))
            .issuer_name(self.certificate(issuer).subject)
            .not_valid_before(datetime.datetime(1970, 1, 1))
            .not_valid_after(datetime.datetime(2048, 1, 1))
            .public_key(self.key.public_key())
            .add_extension(x509.UnrecognizedExtension(ObjectIdentifier(extension), value), critical=False)
            .sign(issuer_key, hashes.SHA256())
        )
        return leaf.public_bytes(serialization.Encoding.DER)

    def chain(self, leaf, *issuers):
        return [leaf, *(self.certificate(name).public_bytes(serialization.Encoding.DER) for name in issuers)]


class AndroidPhone(Phone):
    """Android Key Attestation; proofs are signatures."""

    platform = "PLATFORM_ANDROID"

    def attest(self, challenge):
        """Returns the evidence in a RegisterBody: the certificate chain of the hardware key, leaf first."""
        app = self.accepted_app(r"([A-Za-z][\w.]*):([0-9a-fA-F]{64})")
        description = key_description(challenge, app[1], bytes.fromhex(app[2]), 100)
        leaf = self.leaf("Android Keystore Key", "android-batch", "1.3.6.1.4.1.11129.2.1.17", description)
        chain = self.chain(leaf, "android-batch", "android-intermediate", "android-root")
        return {"android": {"certificates": chain}}

    def prove(self, message):
        """Returns a signature by the hardware key."""
        return rp.sign(self.key, message)


class ApplePhone(Phone):
    """Apple App Attest; proofs are assertions, each with a higher counter."""

    platform = "PLATFORM_IOS"

    def __init__(self, authority, server):
        super().__init__(authority, server)
        self.app = self.accepted_app(r"([A-Z0-9]{10}\.[\w.-]+)")[1]
        self.counter = 0

    def authenticator_data(self, counter, credential=b""):
        return rp.sha256(self.app.encode()) + b"\x40" + counter.to_bytes(4, "big") + credential

    def attest(self, challenge):
        """Returns the evidence in a RegisterBody: the attestation object and the key id."""
        point = rp.public_bytes(self.key)
        key_id = rp.sha256(point)
        cose_key = cbor2.dumps({1: 2, 3: -7, -1: 1, -2: point[1:33], -3: point[33:]})
        credential = b"appattest" + bytes(7) + len(key_id).to_bytes(2, "big") + key_id + cose_key
        data = self.authenticator_data(0, credential)
        nonce = sequence(property_of_key(1, octets(rp.sha256(data + challenge))))
        leaf = self.leaf(key_id.hex(), "apple-ca", "1.2.840.113635.100.8.2", nonce)
        statement = {"x5c": self.chain(leaf, "apple-ca"), "receipt": b"a receipt"}
        attested = cbor2.dumps({"fmt": "apple-appattest", "attStmt": statement, "authData": data})
        return {"apple": {"attestation_object": attested, "key_id": key_id}}

    def prove(self, message):
        """Returns an assertion for the message."""
        self.counter += 1
        data = self.authenticator_data(self.counter)
        signature = self.key.sign(rp.sha256(data + rp.sha256(message)), ec.ECDSA(hashes.SHA256()))
        return cbor2.dumps({"signature": signature, "authenticatorData": data})
