#!/usr/bin/env python3
"""An independent wallet, written from docs/protocol.md and Proto/ only, that tests the server of a lab.

    client.py FOLDER-OF-THE-LAB

Registers, unlocks, enters a wrong PIN, changes the PIN, makes calls that must be rejected, and revokes the wallet.
Exits with a non-zero status at the first deviation from docs/protocol.md.
"""

import os
import pathlib
import sys

from connection import Connection, Refused
from lab_device import AndroidPhone, ApplePhone
from wallet import Pair, Wallet
import messages
import remote_pin as rp

PIN, WRONG_PIN, NEW_PIN = "024791", "135802", "970531"


class Lab:
    """The content of lab.yaml, whose paths are relative to the folder of the lab, and a phone for it."""

    def __init__(self, folder, phone=AndroidPhone):
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
        self.phone = phone

    def connect(self):
        return Connection(self.address, self.ca_file, self.name, self.phone.platform)

    def wallet(self):
        return Wallet(self.phone(self.authority, self.server))

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
    raise SystemExit(f"✘ {rule}: the call was not rejected")


def registers(lab, wallet):
    print("A wallet registers")
    with lab.connect() as connection:
        expect_refused(
            "NOT_ALLOWED",
            "a call before Hello is rejected",
            lambda: connection.call(begin_enrollment=messages.BeginEnrollmentRequest()),
        )
        terms = connection.hello()
        expect(terms.pin_length == 6 and terms.policy.rounds >= 1, "Hello returns the terms")
        token = wallet.enroll(connection, PIN)
        expect(rp.read_deletion_code(wallet.deletion_code) is not None, "Register returns a share and a deletion code")
    with lab.greeted() as connection:
        wallet.register(connection, token, PIN, wallet.phone.attest(rp.sha256(token)))
        expect(True, "a repeated registration is accepted before the first session")
    return terms.policy, token


def unlocks(lab, wallet):
    print("The wallet unlocks in one flight")
    with lab.connect() as connection:
        hello = connection.send(
            hello=messages.HelloRequest(platform=wallet.phone.platform, app_version="1.0.0", os_version="16")
        )
        session = connection.send(open_session=wallet.session_call(connection))
        call = wallet.instruct_call(connection, 1, PIN)
        check = connection.send(instruct=call)
        connection.answer(hello)
        active = connection.answer(session).active
        expect(active.pin_key_id == wallet.pair.id, "the server returns the id of the wallet's PIN key")
        expect(len(active.presence_share) == 32, "the server returns the presence share")
        verdict = connection.answer(check)
        share = verdict.check_pin.unlock_share
        expect(wallet.pair.open(PIN, share, wallet.id) == wallet.data_key, "the unlock share opens the PIN slot")
        wallet.check_receipt(call, verdict)
        expect(wallet.last_number == 1, "the receipt has the number 1 and a path to a root that the pinned key signed")


def gets_wrong_pins(lab, wallet, policy):
    print("A wrong PIN is counted once")
    left = policy.attempts_per_round - 1
    entry = os.urandom(16)
    with lab.greeted() as connection:
        wallet.open_session(connection)
        kind, wrong = wallet.instruct(connection, 1, WRONG_PIN, attempt=entry)
        expect(kind == "wrong" and wrong.state.open.attempts_left == left, f"wrong, {left} attempts left")
        kind, wrong = wallet.instruct(connection, 2, WRONG_PIN, attempt=entry)
        expect(kind == "wrong" and wrong.state.open.attempts_left == left, "a retry of the same entry is not counted")
        expect_refused("OUT_OF_ORDER", "a skipped counter is rejected", lambda: wallet.instruct(connection, 9, PIN))
        captured = wallet.instruct_call(connection, 3, PIN)
        session = wallet.session_call(connection)
    with lab.greeted() as connection:
        expect_refused(
            "AUTHENTICATION_FAILED",
            "a proof from another connection is rejected",
            lambda: connection.call(open_session=session),
        )
        expect(connection.is_closed_by_server(), "a wrong proof closes the connection")
    with lab.greeted() as connection:
        state = wallet.open_session(connection).active.pin_state
        expect(state.open.attempts_left == left, "the count is kept across connections")
        counts = wallet.counts
        expect(counts.wrong == 1 and counts.last_wrong > 0 and counts.epoch == 1, "the session states the wrong PIN")
        captured.counter = 1
        expect_refused(
            "AUTHENTICATION_FAILED",
            "an instruction from another connection is rejected",
            lambda: connection.call(instruct=captured),
        )
    with lab.greeted() as connection:
        wallet.open_session(connection)
        kind, _ = wallet.instruct(connection, 1, PIN)
        expect(kind == "check_pin", "the right PIN is accepted")
        receipt = wallet.receipt
        expect(receipt.wrong == 1 and receipt.last_wrong > 0, "its receipt states the wrong PIN before it")
        kind, _ = wallet.instruct(connection, 2, PIN)
        expect(wallet.receipt.wrong == 0 and wallet.last_number == 4, "judged attempts are numbered without a gap")
    with lab.greeted() as connection:
        state = wallet.open_session(connection).active.pin_state
        expect(state.open.attempts_left == policy.attempts_per_round, "the right PIN resets the count")
        expect((wallet.counts.wrong, wallet.counts.last_wrong) == (0, 0), "the session states no wrong PIN")


def changes_pin(lab, wallet):
    print("The wallet changes its PIN")
    old, new = wallet.pair, Pair()
    with lab.greeted() as connection:
        wallet.open_session(connection)
        share = wallet.instruct(connection, 1, PIN)[1].unlock_share
        new.seal(NEW_PIN, share, wallet.id, wallet.data_key)
        kind, _ = wallet.instruct(connection, 2, PIN, new=(NEW_PIN, new))
        expect(kind == "change_pin", "the server accepts the new PIN")
        error = expect_refused(
            "PIN_KEY_CHANGED", "the old PIN key is rejected", lambda: wallet.instruct(connection, 3, PIN)
        )
        expect(error.pin_key_id == new.id, "the error has the id of the new PIN key")
        wallet.pair = new
        share = wallet.instruct(connection, 4, NEW_PIN)[1].unlock_share
        expect(wallet.pair.open(NEW_PIN, share, wallet.id) == wallet.data_key, "the unlock share opens the new slot")
        kind, shown = wallet.instruct(connection, 5, NEW_PIN, show_deletion_code={})
        expect(shown.deletion_code == wallet.deletion_code, "the server returns the deletion code again")
    expect(old.id != new.id, "each PIN key has a different id")


def sends_bad_text(lab, wallet):
    print("Text with characters that nobody sees is malformed")
    with lab.connect() as connection:
        for field, text in [("os_version", "16\0forged"), ("app_version", "1.0.0\0"), ("app_version", "1.0.0\n")]:
            fields = {"platform": wallet.phone.platform, "app_version": "1.0.0", "os_version": "16", field: text}
            expect_refused(
                "MALFORMED",
                f"Hello with {field} {text!r}",
                lambda: connection.call(hello=messages.HelloRequest(**fields)),
            )
        connection.hello()
        expect_refused(
            "MALFORMED",
            "a deletion code with a zero byte and more behind it",
            lambda: connection.call(revoke_with_code={"deletion_code": wallet.deletion_code + "\0" + "x" * 30}),
        )
        wallet.open_session(connection)
        codes = [b"person 77", b"person-77\r\n", "José-1".encode(), b"\xef\xbb\xbfperson-77"]
        for counter, code in enumerate(codes, 1):
            expect_refused(
                "MALFORMED",
                f"the recovery code {code}",
                lambda: wallet.instruct(connection, counter, NEW_PIN, link_recovery_code={"recovery_code": code}),
            )
        kind, _ = wallet.instruct(connection, 5, NEW_PIN, link_recovery_code={"recovery_code": b"person-77"})
        expect(kind == "link_recovery_code", "a recovery code of visible ASCII characters is linked")
        expect_refused(
            "NOT_ALLOWED",
            "the same code in upper case is another code",
            lambda: wallet.instruct(connection, 6, NEW_PIN, link_recovery_code={"recovery_code": b"PERSON-77"}),
        )


def is_refused(lab, wallet, token):
    print("Invalid calls are rejected")
    with lab.greeted() as connection:
        evidence = wallet.phone.attest(rp.sha256(token))
        expect_refused(
            "CHALLENGE_INVALID",
            "a used token is rejected",
            lambda: wallet.register(connection, token, NEW_PIN, evidence),
        )
        other = Wallet(wallet.phone)
        enrollment = connection.call(begin_enrollment=messages.BeginEnrollmentRequest())
        other.id = enrollment.wallet_id
        expect_refused(
            "ATTESTATION_REJECTED",
            "an attestation for another challenge is rejected",
            lambda: other.register(connection, enrollment.token, PIN, evidence),
        )
        expect_refused(
            "SESSION_REQUIRED",
            "an instruction without a session is rejected",
            lambda: wallet.instruct(connection, 1, NEW_PIN),
        )
        expect_refused("UNSUPPORTED", "an unknown call is rejected", lambda: connection.call())
    with lab.greeted() as connection:
        connection.tls.sendall(bytes(4))
        error = expect_refused("MALFORMED", "an empty frame is rejected", lambda: connection.answer(0))
        expect(connection.is_closed_by_server() and error is not None, "an empty frame closes the connection")


def is_revoked(lab, wallet):
    print("The user revokes the wallet with the deletion code")
    with lab.connect() as connection:
        typed = rp.show_deletion_code(wallet.deletion_code)
        for wrong in [typed + ".", typed.replace("-", "_"), "\u212a" + typed[1:]]:
            other = connection.call(revoke_with_code={"deletion_code": wrong})
            expect(other.WhichOneof("result") == "not_recognised", f"{wrong!r} is not recognized")
        first = connection.call(revoke_with_code={"deletion_code": typed.lower()})
        expect(first.revoked.revoked_at_ms > 0, "the code in lower case revokes the wallet")
        for form in [typed.replace("-", "\u2011") + "\r\n", typed.replace("-", "\u00a0"), "\ufeff" + typed]:
            again = connection.call(revoke_with_code={"deletion_code": form})
            expect(again == first, f"{form!r} is the same code, and a repeated revocation has the same result")
        other = connection.call(revoke_with_code={"deletion_code": "0" * 18})
        expect(other.WhichOneof("result") == "not_recognised", "an unknown code is not recognized")
    with lab.greeted() as connection:
        status = wallet.open_session(connection)
        expect(status.revoked.reason == messages.Revocation.REASON_USER, "OpenSession reports the revocation")
        expect(status.revoked.with_deletion_code, "it says that the deletion code was used")
        expect_refused("REVOKED", "the wallet can no longer unlock", lambda: wallet.instruct(connection, 1, NEW_PIN))
        connection.call(report_wipe=messages.ReportWipeRequest())
        expect(True, "the wallet reports its wipe")


def main():
    if len(sys.argv) != 2:
        raise SystemExit("usage: client.py FOLDER-OF-THE-LAB")
    for phone in (AndroidPhone, ApplePhone):
        print(phone.__doc__)
        lab = Lab(sys.argv[1], phone)
        wallet = lab.wallet()
        policy, token = registers(lab, wallet)
        unlocks(lab, wallet)
        gets_wrong_pins(lab, wallet, policy)
        changes_pin(lab, wallet)
        sends_bad_text(lab, wallet)
        is_refused(lab, wallet, token)
        is_revoked(lab, wallet)
    print("All checks of docs/protocol.md passed.")


if __name__ == "__main__":
    main()
