package import Vocabulary

/// Returns the known ones of these wallets, each with its position in order of registration.
package struct PlacesOfWallets: StoreStep {
    let wallets: [WalletID]
    package static let access = StepAccess.reading

    package func run(in rows: some Rows) throws -> [(wallet: WalletID, place: UInt64)] {
        try rows.find(.these(self.wallets)).wallets.map { (try $0.identified(), $0.cursor) }
    }
}

/// Stores the time of each wallet's last session, unless the stored one is later.
package struct KeepLastSessions: StoreStep {
    let sessions: [(wallet: WalletID, at: Timestamp)]
    package static let access = StepAccess.writing

    package func run(in rows: some Rows) throws { try rows.keepLastSessions(self.sessions) }
}

extension WalletStore {
    /// Stores the time of each wallet's last session, some in each step.
    ///
    /// Ignores wallets that no longer exist.
    package func keepLastSessions(_ sessions: [WalletID: Timestamp]) async throws(StoreError) {
        var known: [(wallet: WalletID, place: UInt64)] = []
        for wallets in Array(sessions.keys).pieces(of: endedAtOnce) {
            known += try await self.perform(PlacesOfWallets(wallets: wallets))
        }
        // Rows on the same page are written together.
        known.sort { $0.place < $1.place }
        for page in known.pieces(of: endedAtOnce) {
            let times = page.compactMap { known in sessions[known.wallet].map { (wallet: known.wallet, at: $0) } }
            try await self.perform(KeepLastSessions(sessions: times.inLockOrder(\.wallet)))
        }
    }
}
