package import Vocabulary

extension SQLiteWalletStore {
    /// The maximum number of rows written by one step, so that PIN checks do not wait long.
    private static let keptAtOnce = 500
    /// The maximum number of rows read by one step, which takes about a millisecond if they are in memory.
    static let searchedAtOnce = 2000

    package func report(of wallet: WalletID) async throws(StoreError) -> StoredWallet? {
        try await self.queue.perform { try $0.report(of: wallet) }
    }

    package func revoke(wallets: [WalletID], at now: Timestamp) async throws(StoreError) -> WalletsRevocationOutcome {
        try await self.queue.perform { try $0.revoke(wallets: wallets, at: now) }
    }

    package func revoke(
        recoveryCode mac: RecoveryCodeMAC,
        at now: Timestamp
    ) async throws(StoreError) -> RecoveryCodeRevocationOutcome {
        let search = LinkSearch()
        try await self.queue.perform { $0.linkedDuring[search] = [] }
        let result: Result<RecoveryCodeRevocationOutcome, StoreError>
        do throws(StoreError) {
            let found = try await self.wallets(linkedTo: mac)
            result = .success(
                try await self.queue.perform {
                    try $0.revoke(recoveryCode: mac, found: found, during: search, at: now)
                }
            )
        } catch {
            result = .failure(error)
        }
        // Also needed if the batch failed, because a rollback does not restore state in memory.
        try? await self.queue.perform { $0.linkedDuring[search] = nil }
        return try result.get()
    }

    package func wallets(linkedTo mac: RecoveryCodeMAC) async throws(StoreError) -> [WalletID] {
        var found: [WalletID] = []
        var last = Int64.min
        while true {
            let start = last
            let page = try await self.queue.perform {
                try $0.linked(to: mac, after: start, atMost: Self.searchedAtOnce)
            }
            guard let page else { return found }
            found += page.wallets
            last = page.last
        }
    }

    package func setSolutionRevoked(_ isRevoked: Bool) async throws(StoreError) -> Bool {
        try await self.queue.perform { try $0.changeSolution(isRevoked: isRevoked) }
    }

    package func denied(
        after: RecoveryCodeMAC?,
        limit: Int
    ) async throws(StoreError) -> (entries: [StoredDenial], hasMore: Bool) {
        try await self.queue.perform { try $0.denied(after: after, limit: limit) }
    }

    package func denied(_ mac: RecoveryCodeMAC) async throws(StoreError) -> Timestamp? {
        try await self.queue.perform { try $0.denied(mac) }
    }

    package func removeDenied(_ mac: RecoveryCodeMAC) async throws(StoreError) -> Timestamp? {
        try await self.queue.perform { try $0.removeDenied(mac) }
    }

    package func operatorValues() async throws(StoreError) -> OperatorValues {
        try await self.queue.perform { try $0.operatorValues() }
    }

    package func setOperatorValues(
        _ values: [String: String?],
        at now: Timestamp
    ) async throws(StoreError) -> OperatorValues {
        try await self.queue.perform { try $0.setOperatorValues(values, at: now) }
    }

    package func wallet(ofDeletionCode digest: SHA256Digest) async throws(StoreError) -> WalletID? {
        try await self.queue.perform { try $0.wallet(ofDeletionCode: digest) }
    }

    package func purged(deletionCode digest: SHA256Digest) async throws(StoreError) -> Timestamp? {
        try await self.queue.perform { try $0.purged(deletionCode: digest) }
    }

    package func listing(after: UInt64?, limit: Int) async throws(StoreError) -> [StoredListing] {
        try await self.queue.perform { try $0.listing(after: after, limit: limit) }
    }

    package func keepLastSessions(_ sessions: [WalletID: Timestamp]) async throws(StoreError) {
        var rows: [(wallet: WalletID, key: WalletKey)] = []
        for wallets in Array(sessions.keys).pieces(of: Self.keptAtOnce) {
            rows += try await self.queue.perform { try $0.keys(of: wallets) }
        }
        // Sort by row, so that rows on the same page are written together.
        rows.sort { $0.key.number < $1.key.number }
        for page in rows.pieces(of: Self.keptAtOnce) {
            let known = page.compactMap { row in sessions[row.wallet].map { (wallet: row.wallet, at: $0) } }
            try await self.queue.perform { try $0.keepLastSessions(known) }
        }
    }
}
