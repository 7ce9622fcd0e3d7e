package import Secrets
internal import Vocabulary

/// The key for the MACs of attempt records.
///
/// It is derived from the vault once at start, so PIN checks need no additional call to the vault. An attacker who can
/// write to the database but does not have the key cannot create or change a record. The attacker can only put back an
/// older record of the same wallet.
package final class RecordKey: Sendable {
    /// The length of a MAC.
    ///
    /// It is short because every judged attempt writes one. The only way to test a forged MAC is to present it to the
    /// server, which rejects and reports every attempt.
    static let macByteCount = 8

    private let key: HMACKey

    package init(_ key: consuming SecretBytes) {
        self.key = HMACKey(key)
        self.key.keepOutOfSwap()
    }

    /// Returns the MAC of a wallet's record, including its number of judged attempts.
    func mac(of record: [UInt8], of wallet: WalletID) -> [UInt8] {
        self.key.code(of: wallet.bytes, record, byteCount: Self.macByteCount)
    }

    /// A value that identifies the key, so that a store can recognize it.
    package var check: [UInt8] {
        self.key.code(of: Array("remote-pin/1 check of a record key".utf8), byteCount: Self.macByteCount)
    }
}
