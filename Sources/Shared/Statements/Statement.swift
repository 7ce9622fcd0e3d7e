internal import Crypto
internal import FoundationEssentials
package import Vocabulary

/// The purpose of a signature.
///
/// Every signed statement starts with it.
///
/// The texts are part of the protocol and never change. They are terminated by a zero byte, so none of them contains
/// one.
package enum Purpose: String, Hashable, Sendable, CaseIterable {
    /// A registration, signed by the PIN key that it contains.
    case registerPIN = "remote-pin/1 register pin"
    /// A registration, signed by the device's hardware key.
    case registerDevice = "remote-pin/1 register device"
    /// The opening of a session, signed by the device's hardware key.
    case session = "remote-pin/1 session"
    /// An instruction, signed by the key derived from the entered PIN.
    case instructPIN = "remote-pin/1 instruct pin"
    /// A change of the PIN, signed by the key of the new PIN.
    case newPIN = "remote-pin/1 new pin"
}

/// The signed bytes: purpose ‖ 0x00 ‖ channel binding ‖ wallet id ‖ counter ‖ body.
///
/// Every part before the body either has a fixed length or ends with a terminator it cannot contain, so two different
/// statements never have the same bytes. They include the channel binding, so a signature made for one connection is
/// not valid on another.
package struct Statement: Hashable, Sendable {
    /// The bytes M that a hardware key signs.
    package let bytes: [UInt8]

    /// Assembles the bytes.
    ///
    /// - Parameters:
    ///   - counter: The counter of an instruction, or 0 for any other purpose.
    ///   - body: The serialized message exactly as it is sent or was received. It must not be encoded again.
    package init(
        _ purpose: Purpose,
        channelBinding: ChannelBinding,
        walletID: WalletID,
        counter: UInt64 = 0,
        body: [UInt8]
    ) {
        let label = purpose.rawValue.utf8
        var bytes: [UInt8] = []
        bytes.reserveCapacity(label.count + 1 + 32 + 16 + 8 + body.count)
        bytes.append(contentsOf: label)
        bytes.append(0)
        bytes.append(contentsOf: channelBinding.bytes)
        bytes.append(contentsOf: walletID.bytes)
        bytes.append(bigEndian: counter, byteCount: 8)
        bytes.append(contentsOf: body)
        self.bytes = bytes
    }

    /// The SHA-256 digest of the bytes, which is also the client data hash of an App Attest assertion.
    package var digest: Vocabulary.SHA256Digest { .of(self.bytes) }
}

/// A decoded public key that is known to be on the curve.
///
/// It does not need to be decoded for every verification.
package struct VerifyingKey: Sendable {
    private let key: P256.Signing.PublicKey

    /// Decodes a key; returns nil if the bytes are not a point on the curve.
    package init?(_ publicKey: P256PublicKey) {
        guard let key = try? P256.Signing.PublicKey(x963Representation: publicKey.bytes) else { return nil }
        self.key = key
    }

    /// Returns whether the signature is valid for this key and the statement's bytes, hashed once with SHA-256.
    ///
    /// Do not use a signature as an identifier, since r‖(q − s) is valid if r‖s is.
    package func isValid(_ signature: P256Signature, for statement: Statement) -> Bool {
        self.isValid(signature, forBytes: statement.bytes)
    }

    /// Verifies a signature of arbitrary bytes, for published vectors.
    func isValid(_ signature: P256Signature, forBytes bytes: [UInt8]) -> Bool {
        guard let signature = try? P256.Signing.ECDSASignature(rawRepresentation: signature.bytes) else { return false }
        return self.key.isValidSignature(signature, for: SHA256.hash(data: bytes))
    }
}
