internal import PINPolicy
package import Vocabulary
package import WalletStore

/// The rows of a store in one transaction, in memory.
///
/// It finds and keeps values; every rule is in the steps that use it. A transaction is undone by dropping it, and
/// committed by keeping its ``tables``.
package final class DictionaryRows: Rows {
    /// A held wallet, with the parts that were asked for.
    package struct Held: HeldWallet {
        package let id: WalletID
        package var wallet: StoredWallet
    }

    package private(set) var tables: DictionaryTables
    package let key: RecordKey
    package private(set) var facts = StoreFacts()
    /// Whether the transaction changes something that the audit log names.
    package private(set) var isAudited = false

    /// Begins a transaction on these contents.
    ///
    /// Throws ``StoreError/corrupt`` if the facts cannot be read.
    package init(_ tables: DictionaryTables, by key: RecordKey) throws {
        (self.tables, self.key) = (tables, key)
        try self.readFacts()
    }

    private func readFacts() throws {
        self.facts.isSolutionRevoked = self.tables.isSolutionRevoked
        self.facts.charges = try StoredEpochs().run(in: self).map { EpochCharge($0.rule, openedAt: $0.openedAt) }
        self.facts.receiptVersion = try self.vaultVersions().last?.version
    }

    // MARK: Reads of many wallets

    package func find(_ selection: WalletSelection) -> WalletPage<FoundWallet> {
        self.page(selection, self.found)
    }

    private func found(_ entry: DictionaryTables.Entry) -> FoundWallet {
        FoundWallet(
            cursor: UInt64(bitPattern: entry.place),
            id: entry.id,
            state: entry.wallet?.row.state,
            attempts: entry.wallet.flatMap { KeptAttempts(decoding: $0.attempts, of: $0.id, by: self.key) },
            isBlockRecorded: entry.wallet?.isBlockRecorded ?? false
        )
    }

    package func search(for mac: RecoveryCodeMAC, after cursor: UInt64?, limit: Int) -> WalletPage<FoundWallet> {
        self.page(.next(after: cursor, limit: limit)) { entry in
            entry.wallet?.row.recoveryMAC == mac.bytes ? self.found(entry) : nil
        }
    }

    package func records(_ selection: WalletSelection) -> WalletPage<WalletRecord> {
        self.page(selection) { entry in
            guard var whole = entry.wallet else { return nil }
            whole.unopenedSince = self.tables.sides[.unopened, .number(entry.place)]?.timeIfAny(2)
            return WalletRecord(
                cursor: UInt64(bitPattern: entry.place),
                id: whole.id,
                registeredAt: whole.registeredAt,
                lastSession: whole.lastSession,
                whole: whole
            )
        }
    }

    private func page<Wallet>(
        _ selection: WalletSelection,
        _ read: (DictionaryTables.Entry) -> Wallet?
    ) -> WalletPage<Wallet> {
        let (entries, isFull) = self.tables.page(selection)
        let last = entries.last.map { UInt64(bitPattern: $0.place) }
        return WalletPage(wallets: entries.compactMap(read), next: isFull ? last : nil)
    }

    package func walletCount() -> Int { self.tables.wallets.count }
    package func unconfirmedShares() -> Int { self.tables.wallets.values.count { $0.next != NextShares() } }
    package func recordKeyCheck() -> [UInt8]? { self.key.check }

    package func firstAndLastPlace() -> (first: Int64, last: Int64)? {
        let places = self.tables.wallets.values.map(\.row.key.number)
        guard let first = places.min(), let last = places.max() else { return nil }
        return (first, last)
    }

    /// No index can hide a wallet.
    package func requireEveryPlace(after cursor: UInt64?, limit: Int) {}

    // MARK: A wallet

    package func hold(_ wallet: WalletID, with parts: WalletParts) -> Held? {
        guard let found = self.tables.wallets[wallet] else { return nil }
        let attempts =
            parts.contains(.attempts) ? KeptAttempts(decoding: found.attempts, of: wallet, by: self.key) : nil
        let next = parts.contains(.nextShares) ? found.next : NextShares()
        return Held(id: wallet, wallet: StoredWallet(row: found.row, attempts: attempts, next: next))
    }

    package func keep(_ held: Held, _ parts: WalletParts) throws {
        guard var kept = self.tables.wallets[held.id] else { throw StoreError.corrupt }
        if parts.contains(.attempts), let attempts = held.wallet.attempts {
            kept.attempts = attempts.encoded(of: held.id, by: self.key)
        }
        if parts.contains(.row) {
            kept.row = held.wallet.row
            kept.row.state.writes &+= 1
        }
        if parts.contains(.nextShares) { kept.next = held.wallet.next }
        self.tables.wallets[held.id] = kept
    }

    package func insert(_ registration: NewRegistration) throws {
        guard self.tables.wallets[registration.walletID] == nil else { throw StoreError.corrupt }
        self.tables.lastPlace += 1
        let place = WalletKey(number: self.tables.lastPlace)
        self.tables.wallets[registration.walletID] = WholeWallet(
            id: registration.walletID,
            attempts: KeptAttempts(as: self.key.form).encoded(of: registration.walletID, by: self.key),
            row: WalletRow(registering: registration, as: place, in: self.facts.epoch),
            next: NextShares(),
            deletionDigest: registration.deletionCode?.digest.bytes,
            registeredAt: registration.now,
            attested: registration.attested,
            unopenedSince: nil,
            endedAt: nil,
            lastSession: nil,
            isBlockRecorded: false
        )
        try self.query(
            .insert(into: .unopened),
            [.number(place.number), .bytes(registration.walletID.bytes), .number(registration.now.milliseconds)]
        )
    }

    package func remove(_ wallets: [WalletID]) throws {
        for wallet in wallets {
            guard let place = self.tables.wallets.removeValue(forKey: wallet)?.row.key.number else { continue }
            try self.query(.delete(from: .unopened, where: ("place", .equals)), [.number(place)])
        }
    }

    package func keepEnd(of wallet: WalletID, at now: Timestamp) {
        self.change([wallet]) { $0.endedAt = $0.endedAt ?? now }
    }

    package func noteRecorded(blocksOf wallets: [WalletID]) {
        self.change(wallets) { $0.isBlockRecorded = true }
        self.noteAudited()
    }

    package func keepLastSessions(_ sessions: [(wallet: WalletID, at: Timestamp)]) {
        for (wallet, time) in sessions { self.change([wallet]) { $0.lastSession = max($0.lastSession ?? time, time) } }
    }

    /// Changes the known ones of these wallets.
    private func change(_ wallets: [WalletID], _ change: (inout WholeWallet) -> Void) {
        for id in wallets {
            guard var wallet = self.tables.wallets[id] else { continue }
            change(&wallet)
            self.tables.wallets[id] = wallet
        }
    }

    // MARK: Deletion codes and side tables

    package func wallet(ofDeletionCode digest: SHA256Digest) -> WalletID? {
        self.tables.wallets.values.first { $0.deletionDigest == digest.bytes }?.id
    }

    package func keepPurgedCode(of wallet: WalletID, endedAt time: Timestamp) throws {
        guard let digest = self.tables.wallets[wallet]?.deletionDigest else { return }
        try self.query(.insert(into: .purgedCodes, ifKnown: .stays), [.bytes(digest), .number(time.milliseconds)])
    }

    @discardableResult
    package func query(_ statement: SideStatement, _ values: [ColumnValue]) throws -> [SideRows.Row] {
        try self.tables.sides.carryOut(statement, values)
    }

    // MARK: The store

    package func setSolutionRevoked(_ isRevoked: Bool) throws {
        self.tables.isSolutionRevoked = isRevoked
        try self.readFacts()
    }

    package func auditMark() -> StoredAuditMark? { self.tables.auditMark }
    package func operatorRevision() -> Int64? { self.tables.operatorRevision }
    package func raiseOperatorRevision() { self.tables.operatorRevision += 1 }
    package func vaultVersionsHaveChanged() throws { try self.readFacts() }
    package func epochsWereOpened(_ count: Int) throws { try self.readFacts() }
    package func noteAudited() { self.isAudited = true }

    // One server uses the store, one transaction at a time, and no copy of a share stays behind.

    package func lock(recoveryCode mac: [UInt8]) {}
    package func note(reversal name: String) {}
    package func requireKeyAtServers(_ version: UInt32, check: [UInt8]) {}
    package func noteDestroyed() {}
    package func noteDestroyedBefore() {}
}

/// The operations that decide from a wallet's values alone.
extension DictionaryRows {
    package func identity(of wallet: WalletID) -> StoredIdentity? {
        self.hold(wallet, with: .attempts).map { StoredIdentity($0.wallet, self.facts) }
    }

    package func begin(_ session: NewSession) throws -> SessionOutcome {
        guard var held = self.hold(session.walletID, with: [.attempts, .nextShares]) else {
            return BegunSession.ofUnknownWallet.outcome
        }
        let begun = try held.wallet.begin(session, self.facts)
        try self.keep(held, begun.changed)
        return begun.outcome
    }

    package func judge(_ attempt: Attempt) throws -> AttemptOutcome {
        guard !attempt.writes else { return try WritingAttempt(attempt).run(in: self).outcome }
        guard var held = self.hold(attempt.walletID, with: [.attempts, .nextShares]) else { throw StoreError.corrupt }
        let judged = try held.wallet.judge(attempt, self.facts)
        try self.keep(held, judged.changed)
        return judged.outcome
    }
}
