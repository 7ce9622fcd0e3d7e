#!/usr/bin/env python3
"""A wallet written from docs/protocol.md and Proto/ alone, against a lab's server.

    client.py FOLDER-OF-THE-LAB

Registers, unlocks, gets a wrong PIN, changes the PIN, tries what must be refused, and revokes itself. Exits non-zero as
soon as anything is not as docs/protocol.md says.
"""

import os
import pathlib
import sys

from connection import Connection, Refused
from lab_device import AndroidPhone
from wallet import Pair, Wallet
import messages
import remote_pin as rp

PIN, WRONG_PIN, NEW_PIN = "024791", "135802", "970531"


class Lab:
    """What lab.yaml says; relative paths are relative to the lab's folder."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder).resolve()
        values = {}
        for line in (self.folder / "lab.yaml").read_text().splitlines():
            key, colon, value = line.partition(":")
            if colon and not line.startswith("#"):
                values[key.strip()] = value.strip().strip("'\"")
        host, _, port = values["address"].rpartition(":")
        self.address = (host.strip("[]"), int(port))
        self.name = values["server_name"]
        self.ca_file = self.folder / values["ca_file"]
        self.authority = self.folder / values["authority"]
        self.server = self.folder / values["server"]

    def connect(self):
        return Connection(self.address, self.ca_file, self.name)

    def greeted(self):
        connection = self.connect()
        connection.hello()
        return connection


def expect(condition, rule):
    if not condition:
        raise SystemExit(f"✘ {rule}")
    print(f"  ✔ {rule}")


def expect_refused(code, rule, action):
    try:
        action()
    except Refused as refused:
        expect(refused.code == code, f"{rule}: {refused.code}")
        return refused.error
    raise SystemExit(f"✘ {rule}: nothing was refused")


def registers(lab, wallet):
    print("A wallet registers")
    with lab.connect() as connection:
        expect_refused(
            "NOT_ALLOWED",
            "nothing before Hello",
            lambda: connection.call(begin_enrollment=messages.BeginEnrollmentRequest()),
        )
        terms = connection.hello()
        expect(terms.pin_length == 6 and terms.policy.rounds >= 1, "Hello tells the terms")
        token = wallet.enroll(connection, PIN)
        expect(rp.read_deletion_code(wallet.deletion_code) is not None, "it gets an unlock share and a deletion code")
    with lab.greeted() as connection:
        wallet.register(connection, token, PIN, wallet.phone.attest(rp.sha256(token)))
        expect(True, "a repeated registration is taken before the first session")
    return terms.policy, token


def unlocks(lab, wallet):
    print("It unlocks, in one flight")
    with lab.connect() as connection:
        hello = connection.send(hello=messages.HelloRequest(platform="PLATFORM_ANDROID", app_version="1.0.0", os_version="16"))
        session = connection.send(open_session=wallet.session_call(connection))
        check = connection.send(instruct=wallet.instruct_call(connection, 1, PIN))
        connection.answer(hello)
        active = connection.answer(session).active
        expect(active.pin_key_id == wallet.pair.id, "the server names the wallet's PIN key")
        expect(len(active.presence_share) == 32, "it gives the presence share")
        share = connection.answer(check).check_pin.unlock_share
        expect(wallet.pair.open(PIN, share, wallet.id) == wallet.data_key, "the unlock share opens the PIN slot")


def gets_wrong_pins(lab, wallet, policy):
    print("A wrong PIN is counted once")
    left = policy.attempts_per_round - 1
    entry = os.urandom(16)
    with lab.greeted() as connection:
        wallet.open_session(connection)
        kind, wrong = wallet.instruct(connection, 1, WRONG_PIN, attempt=entry)
        expect(kind == "wrong" and wrong.state.open.attempts_left == left, f"wrong, {left} attempts left")
        kind, wrong = wallet.instruct(connection, 2, WRONG_PIN, attempt=entry)
        expect(kind == "wrong" and wrong.state.open.attempts_left == left, "the same entry again costs nothing")
        expect_refused("OUT_OF_ORDER", "a counter left out", lambda: wallet.instruct(connection, 9, PIN))
        captured = wallet.instruct_call(connection, 3, PIN)
        session = wallet.session_call(connection)
    with lab.greeted() as connection:
        expect_refused(
            "AUTHENTICATION_FAILED",
            "a proof of another connection",
            lambda: connection.call(open_session=session),
        )
        expect(connection.is_closed_by_server(), "a wrong proof ends the connection")
    with lab.greeted() as connection:
        state = wallet.open_session(connection).active.pin_state
        expect(state.open.attempts_left == left, "the count is kept over connections")
        captured.counter = 1
        expect_refused(
            "AUTHENTICATION_FAILED", "an instruction of another connection", lambda: connection.call(instruct=captured)
        )
    with lab.greeted() as connection:
        wallet.open_session(connection)
        kind, _ = wallet.instruct(connection, 1, PIN)
        expect(kind == "check_pin", "the right PIN is right")
    with lab.greeted() as connection:
        state = wallet.open_session(connection).active.pin_state
        expect(state.open.attempts_left == policy.attempts_per_round, "and every count starts anew")


def tells_nonce(lab, wallet):
    print("It tells the R of its signatures")
    with lab.greeted() as connection:
        wallet.open_session(connection)
        kind, _ = wallet.instruct(connection, 1, WRONG_PIN, nonce=True)
        expect(kind == "wrong", "a wrong PIN is wrong")
        kind, _ = wallet.instruct(connection, 2, PIN, nonce=True)
        expect(kind == "check_pin", "the right PIN is right")
        other = wallet.instruct_call(connection, 3, PIN, nonce=True)
        other.pin_nonce_y = (rp.P - int.from_bytes(other.pin_nonce_y, "big")).to_bytes(32, "big")
        expect_refused("AUTHENTICATION_FAILED", "another R", lambda: connection.call(instruct=other))
        expect(connection.is_closed_by_server(), "which ends the connection")


def changes_pin(lab, wallet):
    print("It changes its PIN")
    old, new = wallet.pair, Pair()
    with lab.greeted() as connection:
        wallet.open_session(connection)
        share = wallet.instruct(connection, 1, PIN)[1].unlock_share
        new.seal(NEW_PIN, share, wallet.id, wallet.data_key)
        kind, _ = wallet.instruct(connection, 2, PIN, new=(NEW_PIN, new))
        expect(kind == "change_pin", "the new PIN counts")
        error = expect_refused(
            "PIN_KEY_CHANGED", "the old one is told so", lambda: wallet.instruct(connection, 3, PIN)
        )
        expect(error.pin_key_id == new.id, "with the id of the new one")
        wallet.pair = new
        share = wallet.instruct(connection, 4, NEW_PIN)[1].unlock_share
        expect(wallet.pair.open(NEW_PIN, share, wallet.id) == wallet.data_key, "and opens the new slot")
        kind, shown = wallet.instruct(connection, 5, NEW_PIN, show_deletion_code={})
        expect(shown.deletion_code == wallet.deletion_code, "the deletion code is shown again")
    expect(old.id != new.id, "each PIN key has its own id")


def is_refused(lab, wallet, token):
    print("What must be refused")
    with lab.greeted() as connection:
        chain = wallet.phone.attest(rp.sha256(token))
        expect_refused(
            "CHALLENGE_INVALID", "a used token", lambda: wallet.register(connection, token, NEW_PIN, chain)
        )
        stranger = Wallet(wallet.phone)
        begun = connection.call(begin_enrollment=messages.BeginEnrollmentRequest())
        stranger.id = begun.wallet_id
        expect_refused(
            "ATTESTATION_REJECTED",
            "an attestation of another challenge",
            lambda: stranger.register(connection, begun.token, PIN, chain),
        )
        expect_refused("SESSION_REQUIRED", "no session", lambda: wallet.instruct(connection, 1, NEW_PIN))
        expect_refused("UNSUPPORTED", "a call that nobody knows", lambda: connection.call())
    with lab.greeted() as connection:
        connection.tls.sendall(bytes(4))
        error = expect_refused("MALFORMED", "an empty frame", lambda: connection.answer(0))
        expect(connection.is_closed_by_server() and error is not None, "which ends the connection")


def is_revoked(lab, wallet):
    print("Its owner revokes it from a distance")
    with lab.connect() as connection:
        typed = rp.show_deletion_code(wallet.deletion_code).lower()
        first = connection.call(revoke_with_code={"deletion_code": typed})
        again = connection.call(revoke_with_code={"deletion_code": typed})
        expect(first.revoked.revoked_at_ms > 0 and again == first, "done, and the same when repeated")
        other = connection.call(revoke_with_code={"deletion_code": "0" * 18})
        expect(other.WhichOneof("result") == "not_recognised", "another code is not recognised")
    with lab.greeted() as connection:
        status = wallet.open_session(connection)
        expect(status.revoked.reason == messages.Revocation.REASON_USER, "the wallet is told that it is revoked")
        expect_refused("REVOKED", "and unlocks no more", lambda: wallet.instruct(connection, 1, NEW_PIN))
        connection.call(report_wipe=messages.ReportWipeRequest())
        expect(True, "it reports its wipe")


def main():
    if len(sys.argv) != 2:
        raise SystemExit("usage: client.py FOLDER-OF-THE-LAB")
    lab = Lab(sys.argv[1])
    wallet = Wallet(AndroidPhone(lab.authority, lab.server))
    policy, token = registers(lab, wallet)
    unlocks(lab, wallet)
    gets_wrong_pins(lab, wallet, policy)
    tells_nonce(lab, wallet)
    changes_pin(lab, wallet)
    is_refused(lab, wallet, token)
    is_revoked(lab, wallet)
    print("Everything is as docs/protocol.md says.")


if __name__ == "__main__":
    main()
