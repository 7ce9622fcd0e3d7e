internal import Crypto
internal import FoundationEssentials
package import Vocabulary

/// What a signature is for; the first bytes of everything that is signed.
///
/// The texts are part of the protocol and never change. None holds a zero byte, which is what ends them.
package enum Purpose: String, Hashable, Sendable, CaseIterable {
    /// A registration, by the PIN key that it names.
    case registerPIN = "remote-pin/1 register pin"
    /// A registration, by the device's hardware key.
    case registerDevice = "remote-pin/1 register device"
    /// The opening of a session, by the device's hardware key.
    case session = "remote-pin/1 session"
    /// An instruction, by the key that the entered PIN gave.
    case instructPIN = "remote-pin/1 instruct pin"
    /// A change of the PIN, by the new PIN's key.
    case newPIN = "remote-pin/1 new pin"
}

/// What is signed: purpose ‖ 0x00 ‖ channel binding ‖ wallet id ‖ counter ‖ body.
///
/// Everything before the body has a fixed length or an end that it cannot contain, so two different statements never
/// have the same bytes. The channel binding is in every one of them: what one connection saw is of no use on another.
package struct Statement: Hashable, Sendable {
    /// The bytes M themselves; a hardware key signs these.
    package let bytes: [UInt8]

    /// Assembles the bytes.
    ///
    /// `counter` is that of an instruction and 0 for everything else; `body` is the serialized
    /// message exactly as it is sent or was received, never one that was encoded again.
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

    /// SHA-256 of the bytes: an App Attest assertion's client data hash.
    package var digest: Vocabulary.SHA256Digest { .of(self.bytes) }
}
