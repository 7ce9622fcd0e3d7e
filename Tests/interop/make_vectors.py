#!/usr/bin/env python3
"""Writes docs/protocol-vectors.json from docs/protocol.md and Proto/ only, without the project's Swift code.

    python3 Tests/interop/make_vectors.py > docs/protocol-vectors.json

Requires the packages in requirements.txt. The output is reproducible: all inputs are fixed, and ECDSA signatures use
the deterministic nonces of RFC 6979, which the protocol does not require.
"""

import hashlib
import json

from google.protobuf import json_format

import messages
import receipts as rc
import remote_pin as rp


def fixed(label, count):
    """Returns reproducible pseudorandom bytes."""
    return hashlib.shake_128(b"remote-pin vectors " + label.encode()).digest(count)


def pin_keys():
    for number, pin in enumerate(["024791", "000001", "121212", "999998"]):
        salt = fixed(f"salt {number}", 32)
        wide = rp.wide_number(pin, salt)
        yield {
            "pin": pin,
            # The same digits in Arabic-Indic, Devanagari, fullwidth and mathematical characters.
            "typed": ["".join(chr(zero + int(digit)) for digit in pin) for zero in (0x660, 0x966, 0xFF10, 0x1D7CE)],
            "salt": salt.hex(),
            "wide": wide.hex(),
            "private_key": f"{rp.private_scalar(wide):064x}",
            "public_key": rp.public_bytes(rp.pin_key(pin, salt)).hex(),
        }


def scalars():
    """Yields vectors for the reduction, at its limits."""
    for name, wide in [
        ("zero", 0),
        ("q-2", rp.Q - 2),
        ("q-1", rp.Q - 1),
        ("q", rp.Q),
        ("a multiple of q-1", (rp.Q - 1) << 120),
        ("all ones", (1 << 384) - 1),
    ]:
        wide = wide.to_bytes(48, "big")
        yield {"name": name, "wide": wide.hex(), "private_key": f"{rp.private_scalar(wide):064x}"}


def statements():
    key = rp.pin_key("024791", fixed("salt 0", 32))
    binding, wallet = fixed("binding", 32), fixed("wallet", 16)
    for purpose, counter, body in [
        (rp.REGISTER_PIN, 0, fixed("body register", 40)),
        (rp.REGISTER_DEVICE, 0, fixed("body register", 40)),
        (rp.SESSION, 0, b""),
        (rp.INSTRUCT_PIN, 1, fixed("body instruct", 24)),
        (rp.INSTRUCT_PIN, 0x0102030405060708, fixed("body instruct", 24)),
        (rp.NEW_PIN, 2, fixed("body change", 24)),
    ]:
        message = rp.statement(purpose, binding, wallet, counter, body)
        signature = rp.sign(key, message, deterministic=True)
        yield {
            "purpose": purpose,
            "channel_binding": binding.hex(),
            "wallet_id": wallet.hex(),
            "counter": str(counter),
            "body": body.hex(),
            "bytes": message.hex(),
            "sha256": rp.sha256(message).hex(),
            "public_key": rp.public_bytes(key).hex(),
            "signature": signature.hex(),
        }


def slot_keys():
    for number, pin in enumerate(["024791", "121212"]):
        salt, wallet = fixed(f"salt {number}", 32), fixed(f"wallet {number}", 16)
        unlock, presence = fixed(f"unlock share {number}", 32), fixed(f"presence share {number}", 32)
        item = fixed(f"keychain item {number}", 32)
        part = rp.slot_part(pin, salt)
        yield {
            "pin": pin,
            "salt": salt.hex(),
            "wallet_id": wallet.hex(),
            "part": part.hex(),
            "unlock_share": unlock.hex(),
            "pin_slot_key": rp.pin_slot_key(part, unlock, wallet).hex(),
            "keychain_item": item.hex(),
            "presence_share": presence.hex(),
            "biometric_slot_key": rp.biometric_slot_key(item, presence, wallet).hex(),
            "check_value": rp.check_value(unlock).hex(),
        }


def deletion_codes():
    code = "".join(rp.ALPHABET[byte % 32] for byte in fixed("deletion code", 18))
    shown = rp.show_deletion_code(code)
    for typed in [
        shown,
        shown.lower(),
        code,
        shown.replace("-", " "),
        "OIL0-1111-0000-ABCD-EF",
        "oil01111 0000-abcdef",
        shown[:-1],
        shown + "0",
        "U" + code[1:],
        "",
        # Separators that keyboards and word processors insert.
        f" {shown}\r\n",
        shown.replace("-", "\t"),
        shown.replace("-", "\u00a0"),
        shown.replace("-", "\u2010"),
        shown.replace("-", "\u2011"),
        shown.replace("-", "\u2013"),
        shown.replace("-", "\u2212"),
        shown.replace("-", "\u00ad"),
        shown.replace("-", "\u200b"),
        f"\ufeff{shown}",
        # Characters that are not ASCII are not letters or digits of a code, although they look like one or become one
        # by a conversion to upper case.
        "\u0131" + code[1:],
        "\u212a" + code[1:],
        code[:-1] + "\u017f",
        code[:-1] + "\uff11",
        code[:-1] + "\u0661",
        code + "\u0301",
        shown + ".",
        shown.replace("-", "_"),
    ]:
        yield {"typed": typed, "code": rp.read_deletion_code(typed)}


def receipts():
    key = rp.pin_key("024791", fixed("receipt key", 32))
    for number, count in enumerate([1, 2, 3, 5, 8, 11]):
        epoch, time, key_id = number + 1, 1795244400000 + number, 7
        leaves = [
            rc.leaf(
                place % 3 + 1,
                place,
                fixed(f"wallet {place}", 16),
                fixed(f"attempt {place}", 16),
                place + (1 << 33),
                time - 1 if place else 0,
            )
            for place in range(count)
        ]
        statement = rc.root_statement(epoch, rc.root(leaves), time, key_id)
        signature = rp.sign(key, statement, deterministic=True)
        yield {
            "leaves": [leaf.hex() for leaf in leaves],
            "epoch": str(epoch),
            "time": str(time),
            "key_id": key_id,
            "public_key": rp.public_bytes(key).hex(),
            "root": rc.root(leaves).hex(),
            "statement": statement.hex(),
            "signature": signature.hex(),
            "receipts": [
                rc.receipt(leaves, place, epoch, time, key_id, signature).hex() for place in range(count)
            ],
        }


def receipt_keys():
    """Yields lists of keys and the newest one to which they lead from the pinned one, or null."""
    keys = [rp.pin_key("024791", fixed(f"receipt key {number}", 32)) for number in range(4)]
    public = [rp.public_bytes(key) for key in keys]

    def link(number, signer):
        statement = rc.key_statement(number - 1, number, public[number])
        return rc.link(number, public[number], rp.sign(keys[signer], statement, deterministic=True))

    first, second, third = rc.link(1, public[1]), link(2, 1), link(3, 2)
    for name, pinned, links in [
        ("no rotation", 1, [first]),
        ("two rotations", 1, [first, second, third]),
        ("pinned in between", 2, [first, second, third]),
        ("the first link is no longer sent", 1, [second, third]),
        ("a missing link", 1, [first, third]),
        ("a link by another key", 1, [first, second, link(3, 1)]),
        ("another key of the pinned id", 1, [rc.link(1, public[2]), second]),
        ("older than the pinned key", 3, [first, second]),
    ]:
        newest = rc.follow((pinned, public[pinned]), links)
        yield {
            "name": name,
            "pinned_id": pinned,
            "pinned_key": public[pinned].hex(),
            "links": [data.hex() for data in links],
            "newest_id": newest and newest[0],
        }


def requests():
    version = {"app_version": "1.4.0", "os_version": "16"}
    yield messages.Request(id=1, hello=messages.HelloRequest(platform="PLATFORM_ANDROID", **version))
    yield messages.Request(id=2, begin_enrollment={})
    yield messages.Request(
        id=3,
        register=messages.RegisterRequest(
            token=fixed("token", 81),
            body=messages.RegisterBody(
                pin_public_key=rp.public_bytes(rp.pin_key("024791", fixed("salt 0", 32))),
                pin_key_id=fixed("key id", 16),
                android={"certificates": [fixed("leaf", 300), fixed("root", 200)]},
                device={"model": "Example One", **version},
            ).SerializeToString(deterministic=True),
            pin_signature=fixed("pin signature", 64),
            device_proof=fixed("device proof", 64),
        ),
    )
    yield messages.Request(
        id=4,
        open_session={
            "wallet_id": fixed("wallet", 16),
            "body": messages.OpenSessionBody(**version).SerializeToString(deterministic=True),
            "device_proof": fixed("assertion", 150),
        },
    )
    yield messages.Request(
        id=(1 << 64) - 1,
        instruct={
            "counter": 1,
            "body": messages.InstructBody(
                attempt_id=fixed("attempt", 16),
                pin_key_id=fixed("key id", 16),
                candidate_public_key=rp.public_bytes(rp.pin_key("024791", fixed("salt 0", 32))),
                check_pin={},
            ).SerializeToString(deterministic=True),
            "pin_signature": fixed("pin signature", 64),
        },
    )
    yield messages.Request(
        id=5,
        instruct={
            "counter": 2,
            "body": fixed("body instruct", 24),
            "pin_signature": fixed("pin signature", 64),
        },
    )
    yield messages.Request(id=6, revoke_with_code={"deletion_code": "OIL0-1111-0000-ABCD-EF"})
    yield messages.Request(id=7, report_wipe={})


def responses():
    yield messages.Response(
        id=1,
        hello={
            "server_time_ms": 1795244400000,
            "update": {"kind": "KIND_WARN", "blocked_in_ms": 86400000},
            "pin_length": 6,
            "policy": {"rounds": 4, "attempts_per_round": 4, "block_ms": [60000, 300000, 3600000]},
            "features": {"deletion_code": True},
            "solution": "SOLUTION_STATUS_ACTIVE",
            "limits": {"max_in_flight": 16, "session_lifetime_ms": 900000, "token_lifetime_ms": 300000},
        },
    )
    yield messages.Response(
        id=2,
        begin_enrollment={
            "token": fixed("token", 81),
            "wallet_id": fixed("wallet", 16),
            "expires_at_ms": 1795244700000,
        },
    )
    yield messages.Response(
        id=3, register={"unlock_share": fixed("unlock share 0", 32), "deletion_code": "0110111100000ABCDE"}
    )
    links = next(receipt_keys())["links"]
    yield messages.Response(
        id=3,
        register={
            "unlock_share": fixed("unlock share 0", 32),
            "receipt_keys": [bytes.fromhex(link) for link in links],
        },
    )
    yield messages.Response(
        id=4,
        open_session={
            "active": {
                "pin_key_id": fixed("key id", 16),
                "pin_state": {"open": {"attempts_left": 3}},
                "features": {"deletion_code": True},
                "presence_share": fixed("presence share 0", 32),
                "attempts": rc.Counts(9, 1, 1795244400000, 2).encoded(),
            }
        },
    )
    yield messages.Response(
        id=4, open_session={"revoked": {"reason": "REASON_RECOVERY_CODE", "may_register_anew": False}}
    )
    yield messages.Response(id=5, instruct={"check_pin": {"unlock_share": fixed("unlock share 0", 32)}})
    yield messages.Response(id=5, instruct={"wrong": {"state": {"blocked": {"remaining_ms": 60000}}}})
    yield messages.Response(id=5, instruct={"blocked_permanently": {}})
    receipt = list(receipts())[2]["receipts"][1]
    yield messages.Response(
        id=5,
        instruct={
            "wrong": {"state": {"open": {"attempts_left": 3}}},
            "receipt": bytes.fromhex(receipt),
        },
    )
    yield messages.Response(id=6, revoke_with_code={"revoked": {"revoked_at_ms": 1795244400000}})
    yield messages.Response(
        id=8,
        error={
            "code": "ERROR_CODE_PIN_KEY_CHANGED",
            "correlation_id": "0123456789abcdef",
            "pin_key_id": fixed("new", 16),
        },
    )


def frames():
    for message in [*requests(), *responses()]:
        yield {
            "type": message.DESCRIPTOR.name,
            "message": json_format.MessageToDict(message, preserving_proto_field_name=True),
            "frame": rp.frame(message).hex(),
        }


def main():
    vectors = {
        "about": "Test vectors for docs/protocol.md, made by Tests/interop/make_vectors.py. "
        "Byte strings are hexadecimal.",
        "version": 1,
        "pin_keys": list(pin_keys()),
        "scalars": list(scalars()),
        "statements": list(statements()),
        "slot_keys": list(slot_keys()),
        "deletion_codes": list(deletion_codes()),
        "receipts": list(receipts()),
        "receipt_keys": list(receipt_keys()),
        "frames": list(frames()),
    }
    print(json.dumps(vectors, indent=2))


if __name__ == "__main__":
    main()
