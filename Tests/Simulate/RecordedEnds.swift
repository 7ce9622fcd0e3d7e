internal import AuditLog
internal import Vocabulary

/// The wallets that an audit log names as revoked or as blocked permanently.
struct RecordedEnds {
    /// The events that end wallets.
    static let events: Set<AuditEvent> = [.deletionCode, .wipe, .revokeWallets, .revokeRecoveryCode, .deniedLink]

    /// The wallets of revocations that were begun, by the numbers of their entries.
    private var begun: [UInt64: [WalletID]] = [:]
    private(set) var blocked: [WalletID] = []

    var ended: [WalletID] { self.begun.values.flatMap(\.self) }

    mutating func read(_ entry: AuditEntry) {
        let record = entry.record
        switch (record.event, record.phase) {
        case (_, .begun) where Self.events.contains(record.event):
            self.begun[entry.number] = record.subject.wallets
        // An operator repeats a command whose outcome is unclear.
        case (_, .failed(of: let number?, _)), (_, .unclear(of: let number, _)): self.begun[number] = nil
        case (.blockedPermanently, .done): self.blocked += record.subject.wallets
        default: break
        }
    }
}

extension AuditPhase {
    /// The name of the case.
    var name: String { String("\(self)".prefix { $0 != "(" }) }
}
