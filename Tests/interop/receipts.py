"""The receipts of docs/protocol.md: leaves, Merkle trees (RFC 9162), signed roots and keys."""

import dataclasses

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, utils

import remote_pin as rp

RIGHT, WRONG, NOT_JUDGED = 1, 2, 3
ROOT = b"remote-pin/1 receipt root\0"
KEY = b"remote-pin/1 receipt key\0"


def leaf(outcome, wrong, wallet_id, attempt_id, number, last_wrong):
    return (
        bytes([1, outcome])
        + wrong.to_bytes(2, "big")
        + wallet_id
        + attempt_id
        + number.to_bytes(8, "big")
        + last_wrong.to_bytes(8, "big")
    )


def split(count):
    """Returns the largest power of two below count."""
    return 1 << (count - 1).bit_length() - 1


def root(leaves):
    """Returns MTH of RFC 9162 §2.1.1."""
    if len(leaves) == 1:
        return rp.sha256(b"\0" + leaves[0])
    k = split(len(leaves))
    return rp.sha256(b"\1" + root(leaves[:k]) + root(leaves[k:]))


def path(place, leaves):
    """Returns PATH of RFC 9162 §2.1.3.1, joined."""
    if len(leaves) == 1:
        return b""
    k = split(len(leaves))
    if place < k:
        return path(place, leaves[:k]) + root(leaves[k:])
    return path(place - k, leaves[k:]) + root(leaves[:k])


def climb(hashed, place, count, nodes):
    """Returns the root to which the nodes lead, or None if their number is wrong."""
    if count == 1:
        return hashed if not nodes else None
    if not nodes:
        return None
    k, sibling = split(count), nodes[-1]
    if place < k:
        below = climb(hashed, place, k, nodes[:-1])
        return below and rp.sha256(b"\1" + below + sibling)
    below = climb(hashed, place - k, count - k, nodes[:-1])
    return below and rp.sha256(b"\1" + sibling + below)


def root_statement(epoch, root_hash, time, key_id):
    return ROOT + epoch.to_bytes(8, "big") + root_hash + time.to_bytes(8, "big") + key_id.to_bytes(4, "big")


def key_statement(old_id, new_id, public_key):
    return KEY + old_id.to_bytes(4, "big") + new_id.to_bytes(4, "big") + public_key


def is_signed(public_key, signature, message):
    key = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), public_key)
    r, s = (int.from_bytes(half, "big") for half in (signature[:32], signature[32:]))
    try:
        key.verify(utils.encode_dss_signature(r, s), message, ec.ECDSA(hashes.SHA256()))
        return True
    except InvalidSignature:
        return False


def receipt(leaves, place, epoch, time, key_id, signature):
    return (
        leaves[place]
        + place.to_bytes(2, "big")
        + len(leaves).to_bytes(2, "big")
        + epoch.to_bytes(8, "big")
        + time.to_bytes(8, "big")
        + key_id.to_bytes(4, "big")
        + root(leaves)
        + signature
        + path(place, leaves)
    )


@dataclasses.dataclass
class Receipt:
    """A receipt's parts, as received."""

    data: bytes

    def __post_init__(self):
        def number(start, end):
            return int.from_bytes(self.data[start:end], "big")

        assert len(self.data) >= 172 and len(self.data) % 32 == 172 % 32 and self.data[0] == 1
        self.outcome, self.wrong = self.data[1], number(2, 4)
        self.wallet_id, self.attempt_id = self.data[4:20], self.data[20:36]
        self.number, self.last_wrong = number(36, 44), number(44, 52)
        self.place, self.count = number(52, 54), number(54, 56)
        self.epoch, self.time, self.key_id = number(56, 64), number(64, 72), number(72, 76)
        self.root, self.signature = self.data[76:108], self.data[108:172]
        self.nodes = [self.data[start : start + 32] for start in range(172, len(self.data), 32)]

    def is_genuine(self, public_key):
        hashed = rp.sha256(b"\0" + self.data[:52])
        statement = root_statement(self.epoch, self.root, self.time, self.key_id)
        return (
            self.place < self.count
            and climb(hashed, self.place, self.count, self.nodes) == self.root
            and is_signed(public_key, self.signature, statement)
        )


@dataclasses.dataclass
class Counts:
    """The counts that OpenSession states, which nothing signs."""

    number: int
    wrong: int
    last_wrong: int
    epoch: int

    @classmethod
    def read(cls, data):
        assert len(data) == 26
        return cls(*(int.from_bytes(data[start:end], "big") for start, end in ((0, 8), (8, 10), (10, 18), (18, 26))))

    def encoded(self):
        parts = ((self.number, 8), (self.wrong, 2), (self.last_wrong, 8), (self.epoch, 8))
        return b"".join(value.to_bytes(length, "big") for value, length in parts)


def link(key_id, public_key, endorsement=bytes(64)):
    return key_id.to_bytes(4, "big") + public_key + endorsement


def follow(pinned, links):
    """Returns the newest (id, public key) to which signed links lead from the pinned one, or None."""
    key_id, public_key = pinned
    if not links or int.from_bytes(links[-1][:4], "big") < key_id:
        return None
    for data in links:
        new_id, new_key, endorsement = int.from_bytes(data[:4], "big"), data[4:69], data[69:]
        if new_id < pinned[0]:
            continue
        if new_id == pinned[0]:
            if new_key != pinned[1]:
                return None
            continue
        if new_id != key_id + 1 or not is_signed(public_key, endorsement, key_statement(key_id, new_id, new_key)):
            return None
        key_id, public_key = new_id, new_key
    return key_id, public_key
