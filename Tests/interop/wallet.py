"""A wallet: its stored data and its calls."""

import os

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

import messages
import receipts
import remote_pin as rp
from connection import VERSION


class Pair:
    """The data of one PIN on the device: id, salt and slot, but never a key."""

    def __init__(self):
        self.id = os.urandom(16)
        self.salt = os.urandom(32)
        self.slot = None

    def seal(self, pin, share, wallet_id, data_key):
        key = rp.pin_slot_key(rp.slot_part(pin, self.salt), share, wallet_id)
        nonce = os.urandom(12)
        self.slot = nonce + AESGCM(key).encrypt(nonce, data_key, b"")

    def open(self, pin, share, wallet_id):
        """Returns the data key, or None if the PIN or the share is wrong."""
        key = rp.pin_slot_key(rp.slot_part(pin, self.salt), share, wallet_id)
        try:
            return AESGCM(key).decrypt(self.slot[:12], self.slot[12:], b"")
        except InvalidTag:
            return None


class Wallet:
    def __init__(self, phone):
        self.phone = phone
        self.pair = Pair()
        self.data_key = os.urandom(32)
        self.id = None
        self.deletion_code = None
        # The pinned receipt key and the number of the last receipt.
        self.receipt_key = None
        self.last_number = 0

    # Enrollment

    def enroll(self, connection, pin):
        """Calls BeginEnrollment and Register, and seals the slot with the unlock share."""
        enrollment = connection.call(begin_enrollment=messages.BeginEnrollmentRequest())
        self.id = enrollment.wallet_id
        self.register(connection, enrollment.token, pin, self.phone.attest(rp.sha256(enrollment.token)))
        return enrollment.token

    def register(self, connection, token, pin, evidence):
        key = rp.pin_key(pin, self.pair.salt)
        body = messages.RegisterBody(
            pin_public_key=rp.public_bytes(key),
            pin_key_id=self.pair.id,
            device={"model": "Interop", **VERSION},
            **evidence,
        ).SerializeToString()
        result = connection.call(
            register=messages.RegisterRequest(
                token=token,
                body=body,
                pin_signature=rp.sign(key, rp.statement(rp.REGISTER_PIN, connection.binding, self.id, 0, body)),
                device_proof=self.phone.prove(
                    rp.statement(rp.REGISTER_DEVICE, connection.binding, self.id, 0, body)
                ),
            )
        )
        self.deletion_code = result.deletion_code
        self.pin(result.receipt_keys)
        self.pair.seal(pin, result.unlock_share, self.id, self.data_key)

    # Session

    def session_call(self, connection):
        body = messages.OpenSessionBody(**VERSION).SerializeToString()
        proof = self.phone.prove(rp.statement(rp.SESSION, connection.binding, self.id, 0, body))
        return messages.OpenSessionRequest(wallet_id=self.id, body=body, device_proof=proof)

    def open_session(self, connection):
        answer = connection.call(open_session=self.session_call(connection))
        if answer.WhichOneof("status") == "active":
            self.pin(answer.active.receipt_keys)
            self.counts = receipts.Counts.read(answer.active.attempts)
            assert self.counts.number == self.last_number, "the session counts the attempts of the last receipt"
        return answer

    # Receipts

    def pin(self, links):
        """Pins the server's receipt key, or follows its rotations from the pinned one."""
        if self.receipt_key is None:
            self.receipt_key = (int.from_bytes(links[-1][:4], "big"), links[-1][4:69])
        else:
            self.receipt_key = receipts.follow(self.receipt_key, links)
            assert self.receipt_key is not None, "the server's receipt key does not follow from the pinned one"

    def check_receipt(self, call, response):
        """Verifies the receipt of an answer and that its number is the next one, or unchanged without a judgment."""
        body = messages.InstructBody.FromString(call.body)
        receipt = receipts.Receipt(response.receipt)
        kind = response.WhichOneof("result")
        assert receipt.is_genuine(self.receipt_key[1]) and receipt.key_id == self.receipt_key[0]
        assert (receipt.wallet_id, receipt.attempt_id) == (self.id, body.attempt_id)
        assert (receipt.outcome == receipts.RIGHT) == (kind not in ("wrong", "blocked", "blocked_permanently"))
        assert receipt.number == self.last_number + (receipt.outcome != receipts.NOT_JUDGED)
        self.last_number = receipt.number
        return receipt

    def instruct_call(self, connection, counter, pin, attempt=None, new=None, **instruction):
        """Returns an Instruct call; `new` is (PIN, pair) to change the PIN."""
        key = rp.pin_key(pin, self.pair.salt)
        new_key = rp.pin_key(new[0], new[1].salt) if new else None
        if new:
            instruction = {
                "change_pin": {"new_public_key": rp.public_bytes(new_key), "new_pin_key_id": new[1].id}
            }
        body = messages.InstructBody(
            attempt_id=attempt or os.urandom(16),
            pin_key_id=self.pair.id,
            candidate_public_key=rp.public_bytes(key),
            **(instruction or {"check_pin": {}}),
        ).SerializeToString()

        def statement(purpose):
            return rp.statement(purpose, connection.binding, self.id, counter, body)

        return messages.InstructRequest(
            counter=counter,
            body=body,
            pin_signature=rp.sign(key, statement(rp.INSTRUCT_PIN)),
            new_pin_signature=rp.sign(new_key, statement(rp.NEW_PIN)) if new else b"",
        )

    def instruct(self, connection, counter, pin, **options):
        """Makes an Instruct call; returns the kind of result and the result."""
        call = self.instruct_call(connection, counter, pin, **options)
        response = connection.call(instruct=call)
        self.receipt = self.check_receipt(call, response)
        kind = response.WhichOneof("result")
        return kind, getattr(response, kind)
