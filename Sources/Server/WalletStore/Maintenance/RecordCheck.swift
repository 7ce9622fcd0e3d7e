package import Vocabulary

/// The result of checking a number of attempt records.
package struct RecordCheck: Hashable, Sendable {
    /// The wallets in use whose record is missing or was not written by this server.
    package var damaged: [WalletID]
    /// The cursor to continue after, or nil at the end.
    package var next: UInt64?

    package init(damaged: [WalletID], next: UInt64?) {
        self.damaged = damaged
        self.next = next
    }

    /// The result of checking one wallet.
    enum Finding {
        case genuine
        /// The wallet has ended, so it needs no record.
        case ended
        /// The state does not decode, or a server did not write the record for this wallet.
        case damaged
    }

    /// Checks one wallet by its stored state and attempt record.
    static func finding(_ wallet: WalletID, state: [UInt8]?, record: [UInt8]?, by key: RecordKey) -> Finding {
        guard let state = state.flatMap(WalletState.init(decoding:)) else { return .damaged }
        guard state.revocation == nil else { return .ended }
        return record.flatMap { KeptAttempts(decoding: $0, of: wallet, by: key) } == nil ? .damaged : .genuine
    }
}
