"""The computations of docs/protocol.md: statements, PIN key, slot keys, deletion code and frames."""

import hashlib
import unicodedata

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, utils
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

# P-256 (FIPS 186-4, D.1.2.3): the order.
Q = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551

REGISTER_PIN = "remote-pin/1 register pin"
REGISTER_DEVICE = "remote-pin/1 register device"
SESSION = "remote-pin/1 session"
INSTRUCT_PIN = "remote-pin/1 instruct pin"
NEW_PIN = "remote-pin/1 new pin"
PURPOSES = [REGISTER_PIN, REGISTER_DEVICE, SESSION, INSTRUCT_PIN, NEW_PIN]


def hkdf(material, info, count):
    return HKDF(hashes.SHA256(), count, salt=None, info=info).derive(material)


def wide_number(pin, salt):
    """Returns the 48 bytes from which the PIN key is computed."""
    return hkdf(salt + pin.encode("ascii"), b"remote-pin/1 pin key", 48)


def private_scalar(wide):
    return int.from_bytes(wide, "big") % (Q - 1) + 1


def pin_key(pin, salt):
    return ec.derive_private_key(private_scalar(wide_number(pin, salt)), ec.SECP256R1())


def public_bytes(key):
    """Returns a public key in the format of the protocol: X9.63, uncompressed."""
    return key.public_key().public_bytes(serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint)


def statement(purpose, binding, wallet_id, counter, body):
    """Returns M, the signed bytes."""
    assert len(binding) == 32 and len(wallet_id) == 16
    return purpose.encode("ascii") + b"\0" + binding + wallet_id + counter.to_bytes(8, "big") + body


def sign(key, message, deterministic=False):
    """Signs with ECDSA and SHA-256; returns r ‖ s."""
    der = key.sign(message, ec.ECDSA(hashes.SHA256(), deterministic_signing=deterministic))
    r, s = utils.decode_dss_signature(der)
    return r.to_bytes(32, "big") + s.to_bytes(32, "big")


def slot_part(pin, salt):
    return hkdf(salt + pin.encode("ascii"), b"remote-pin/1 slot part", 32)


def pin_slot_key(part, unlock_share, wallet_id):
    return hkdf(part + unlock_share, b"remote-pin/1 pin slot" + wallet_id, 32)


def biometric_slot_key(item, presence_share, wallet_id):
    return hkdf(item + presence_share, b"remote-pin/1 biometric slot" + wallet_id, 32)


def check_value(unlock_share):
    return hkdf(unlock_share, b"remote-pin/1 check", 32)


ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


def is_separator(character):
    """Returns whether a character is dropped from a typed deletion code."""
    category = unicodedata.category(character)
    return category in ("Zs", "Zl", "Zp", "Cc", "Cf", "Pd") or character in "\u2053\u207b\u208b\u2212"


def read_deletion_code(text):
    """Parses a typed code; returns None if it is invalid."""
    code = "".join(c for c in text if not is_separator(c))
    if not code.isascii():
        return None
    code = code.upper().translate(str.maketrans("ILO", "110"))
    return code if len(code) == 18 and all(c in ALPHABET for c in code) else None


def show_deletion_code(code):
    return "-".join(code[start : start + 4] for start in range(0, 18, 4))


def frame(message):
    """Returns a message with its length prefix."""
    payload = message.SerializeToString(deterministic=True)
    return len(payload).to_bytes(4, "big") + payload


def sha256(data):
    return hashlib.sha256(data).digest()
