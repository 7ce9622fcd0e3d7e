package import Vocabulary

/// The outcome of denying a recovery code and ending its wallets.
package struct RecoveryCodeRevocationOutcome: Hashable, Sendable {
    /// The time at which the code was denied.
    package var deniedAt: Timestamp
    /// Whether the code had already been denied before this step.
    package var wasDenied: Bool
    /// All wallets linked to the code.
    ///
    /// Each has ended, either in this step or earlier.
    package var linked: Set<WalletID>
    /// The number of wallets ended by this step.
    package var ended: Int
}

/// A recovery code on the deny list.
package struct StoredDenial: Hashable, Sendable {
    package var mac: RecoveryCodeMAC
    package var deniedAt: Timestamp
}

private let denial = SideStatement.read(.deniedRecoveryCodes, where: ("mac", .equals))
private let denialsAfter = SideStatement.read(.deniedRecoveryCodes, where: ("mac", .isAbove), isLimited: true)
private let newDenial = SideStatement.insert(into: .deniedRecoveryCodes)
private let removal = SideStatement.delete(from: .deniedRecoveryCodes, where: ("mac", .equals))

extension Rows {
    /// Returns the time at which a recovery code was denied, or nil if it is not on the deny list.
    package func denied(_ mac: [UInt8]) throws -> Timestamp? {
        try self.query(denial, [.bytes(mac)]).first?.time(1)
    }

    /// Denies a code, ordered with respect to every link to it.
    ///
    /// Returns the time of an earlier denial, or nil if this is the first.
    package func deny(_ mac: RecoveryCodeMAC, at now: Timestamp) throws -> Timestamp? {
        try self.lock(recoveryCode: mac.bytes)
        if let before = try self.denied(mac.bytes) { return before }
        try self.noteAudited()
        try self.query(newDenial, [.bytes(mac.bytes), .number(now.milliseconds)])
        return nil
    }
}

package struct DeniedCodes: StoreStep {
    let after: RecoveryCodeMAC?
    let limit: Int
    package static let access = StepAccess.reading

    package func run(in rows: some Rows) throws -> (entries: [StoredDenial], hasMore: Bool) {
        // One more row than requested shows whether others follow. Every MAC is greater than an empty value.
        let after = ColumnValue.bytes(self.after?.bytes ?? [])
        let found = try rows.query(denialsAfter, [after, .number(Int64(self.limit) + 1)])
        let entries = try found.prefix(self.limit).map {
            StoredDenial(mac: try $0.identifier(0), deniedAt: try $0.time(1))
        }
        return (entries, found.count > self.limit)
    }
}

/// Denies a recovery code; returns the time of an earlier denial, or nil if this is the first.
package struct DenyCode: StoreStep {
    let mac: RecoveryCodeMAC
    let now: Timestamp
    package static let access = StepAccess.writing

    package func run(in rows: some Rows) throws -> Timestamp? { try rows.deny(self.mac, at: self.now) }
}

package struct TimeOfDenial: StoreStep {
    let mac: RecoveryCodeMAC
    package static let access = StepAccess.reading

    package func run(in rows: some Rows) throws -> Timestamp? { try rows.denied(self.mac.bytes) }
}

package struct RemoveDenial: StoreStep {
    let mac: RecoveryCodeMAC
    package static let access = StepAccess.writing

    package func run(in rows: some Rows) throws -> Timestamp? {
        try rows.lock(recoveryCode: self.mac.bytes)
        guard let entry = try rows.query(removal, [.bytes(self.mac.bytes)]).first else { return nil }
        try rows.noteAudited()
        try rows.note(reversal: OperatorValues.reversal(of: self.mac))
        return try entry.time(1)
    }
}

/// Searches the next wallets after a cursor for those that are linked to a recovery code, including ended ones.
package struct LinkedWallets: StoreStep {
    let mac: RecoveryCodeMAC
    let after: UInt64?
    let limit: Int
    package static let access = StepAccess.reading

    /// A wallet without a link has a MAC of all zeros.
    ///
    /// A damaged wallet is among them, so that it is removed.
    package func run(in rows: some Rows) throws -> WalletPage<FoundWallet> {
        try rows.search(for: self.mac, after: self.after, limit: self.limit).compactMap { wallet in
            wallet.state?.isLinked != false ? wallet : nil
        }
    }
}

extension WalletStore {
    /// Adds a recovery code to the deny list, ends the wallets linked to it and destroys their shares.
    ///
    /// Denies the code first, and then searches for its wallets in pages, so that nothing waits for the whole search.
    /// If the process ends in between, the entry in the audit log is begun and its next start continues. A wallet
    /// without an id cannot be used, and is reported by ``StoreError/corrupt`` after all others have ended.
    ///
    /// Invariant (G7): from the commit of the denial on, no wallet is linked to the code: a link reads the deny list in
    /// its commit, is ordered with respect to the denial, and ends its wallet. A search that begins after the commit
    /// therefore finds every linked wallet, and needs no lock while it reads.
    package func revoke(
        recoveryCode mac: RecoveryCodeMAC,
        at now: Timestamp
    ) async throws(StoreError) -> RecoveryCodeRevocationOutcome {
        let before = try await self.perform(DenyCode(mac: mac, now: now))
        let found = try await self.search(for: mac)
        let linked = found.compactMap(\.id)
        let revocation = Revocation(reason: .recoveryCode, mayRegisterAnew: false)
        let ended = try await self.end(linked, as: revocation, at: now)
        guard linked.count == found.count else { throw .corrupt }
        return RecoveryCodeRevocationOutcome(
            deniedAt: before ?? now,
            wasDenied: before != nil,
            linked: Set(linked),
            ended: ended
        )
    }

    /// Returns the wallets linked to a recovery code, including ended and damaged ones.
    package func wallets(linkedTo mac: RecoveryCodeMAC) async throws(StoreError) -> [WalletID] {
        try await self.search(for: mac).compactMap(\.id)
    }

    private func search(for mac: RecoveryCodeMAC) async throws(StoreError) -> [FoundWallet] {
        var (linked, cursor): ([FoundWallet], UInt64?) = ([], nil)
        repeat {
            let page = try await self.perform(
                LinkedWallets(mac: mac, after: cursor, limit: self.limits.searchedAtOnce)
            )
            linked += page.wallets
            cursor = page.next
        } while cursor != nil
        return linked
    }

    /// Returns up to `limit` denied recovery codes in ascending order, starting after `after` or with the first one,
    /// and whether there are more.
    package func denied(
        after: RecoveryCodeMAC?,
        limit: Int
    ) async throws(StoreError) -> (entries: [StoredDenial], hasMore: Bool) {
        try await self.perform(DeniedCodes(after: after, limit: limit))
    }

    /// Returns the time at which a recovery code was denied, or nil if it is not on the deny list.
    package func denied(_ mac: RecoveryCodeMAC) async throws(StoreError) -> Timestamp? {
        try await self.perform(TimeOfDenial(mac: mac))
    }

    /// Removes a recovery code from the deny list.
    ///
    /// Returns the time at which it was denied, or nil if it was not on the list. Wallets that were revoked because of
    /// the code stay revoked.
    package func removeDenied(_ mac: RecoveryCodeMAC) async throws(StoreError) -> Timestamp? {
        try await self.perform(RemoveDenial(mac: mac))
    }
}
