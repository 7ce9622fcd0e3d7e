package import Vocabulary

/// The state of the MACs in a store's attempt records.
package enum RecordMACs: Hashable, Sendable {
    /// The MACs were made with the key that the store was opened with.
    case present
    case ofAnotherKey
    /// The records were written by an earlier server version, or the store was altered.
    case missing
}

/// The result of checking a number of attempt records.
package struct RecordCheck: Hashable, Sendable {
    /// The wallets in use whose record is missing or was not written by this server.
    package var damaged: [WalletID]
    /// The place to continue after, or nil at the end.
    package var next: UInt64?

    package init(damaged: [WalletID], next: UInt64?) {
        self.damaged = damaged
        self.next = next
    }
}
