package import Secrets
internal import Vocabulary

/// The key for the MACs of attempt records.
///
/// The vault derives it once at the start, so that PIN checks need no additional call to the vault. An attacker who can
/// write the database but does not have the key cannot create or change a record, but only put back an older record of
/// the same wallet.
package final class RecordKey: Sendable {
    /// The length of a MAC, which is short because every judged attempt writes one.
    ///
    /// A forger's only oracle is the server, which rejects and reports each try.
    static let macByteCount = 8

    private let key: SecretBytes

    package init(_ key: consuming SecretBytes) {
        self.key = key
        self.key.keepOutOfSwap()
    }

    /// Returns the MAC over a wallet's record and its number of judged attempts.
    func mac(of record: [UInt8], of wallet: WalletID) -> [UInt8] {
        Array(self.key.hmacSHA256(wallet.bytes + record).prefix(Self.macByteCount))
    }

    /// The value by which a store recognizes its key.
    package var check: [UInt8] {
        Array(self.key.hmacSHA256(Array("remote-pin/1 check of a record key".utf8)).prefix(Self.macByteCount))
    }
}
