package import AuditLog
package import Vocabulary
internal import WalletStore

/// The changes that an audit log records as done up to the store's mark.
///
/// The store had each of them once. All of these that cannot be reversed, and those whose reversal is not on record,
/// must still be in force.
///
/// Threat (G7): an attacker who can write to the database puts the older row of a revoked wallet back. Its values are
/// genuine, so no MAC reveals it, and the store names the same entry of the log as before.
///
/// A log may record a million ends. Therefore, an end takes 24 bytes here, and the ends are looked up in pages.
struct RecordedChanges {
    /// The ends or blocks of wallets.
    private struct Wallets {
        private var ids: [UInt8] = []
        private var times: [Int64] = []

        mutating func add(_ wallets: [WalletID], at time: Timestamp) {
            for wallet in wallets {
                self.ids += wallet.bytes
                self.times.append(time.milliseconds)
            }
        }

        /// Returns the wallets for which `isLost` finds that the change is not in force, by its time.
        func lost(
            _ isLost: ([WalletID]) async throws -> [WalletID]
        ) async throws -> [(wallets: [WalletID], at: Timestamp)] {
            var lost: [Int64: [WalletID]] = [:]
            for start in stride(from: 0, to: self.times.count, by: Self.pageLength) {
                var page: [WalletID: Int64] = [:]
                for place in start..<min(start + Self.pageLength, self.times.count) {
                    let size = WalletIDKind.byteCount
                    // A wallet whose end is recorded twice ended at the first time.
                    guard let wallet = WalletID(self.ids[(size * place)..<(size * (place + 1))]) else { continue }
                    page[wallet] = page[wallet] ?? self.times[place]
                }
                for wallet in try await isLost(Array(page.keys)) {
                    if let time = page[wallet] { lost[time, default: []].append(wallet) }
                }
            }
            return lost.sorted { $0.key < $1.key }.map { ($0.value, Timestamp(milliseconds: $0.key)) }
        }

        private static let pageLength = 10_000
    }

    /// A change that an operator can reverse.
    private enum Reversible: Hashable {
        case denial(RecoveryCodeMAC)
        case solution
    }

    private var ends: [AuditEvent: Wallets] = [:]
    private var blocks = Wallets()
    /// The reversible changes in force, with their times.
    private var reversible: [Reversible: Timestamp] = [:]
    /// The changes whose reversal was begun, by the number of its entry.
    ///
    /// The reversal may have been committed, unless its entry `failed` follows.
    private var reversing: [UInt64: (change: Reversible, at: Timestamp)] = [:]

    /// Processes the next log entry.
    ///
    /// - Parameter isInStore: Whether the entry is no newer than the store's mark.
    mutating func read(_ entry: AuditEntry, isInStore: Bool) {
        let record = entry.record
        switch record.phase {
        case .begun:
            guard let change = Self.reversed(by: record), let at = self.reversible.removeValue(forKey: change) else {
                return
            }
            self.reversing[entry.number] = (change, at)
        case .failed(let of?, _):
            if let (change, at) = self.reversing.removeValue(forKey: of) { self.reversible[change] = at }
        case .done(_?, _):
            if isInStore { self.add(record) }
        case .done(nil, _):
            if isInStore, record.event == .blockedPermanently { self.blocks.add(record.subject.wallets, at: record.at) }
        case .failed(nil, _), .unclear: break
        }
    }

    private mutating func add(_ record: AuditRecord) {
        guard let step = AuditReplay.ending(record) else { return }
        switch step {
        case .end(let wallets, _, let at): self.ends[record.event, default: Wallets()].add(wallets, at: at)
        case .deny(let mac, let linked, let at):
            // The end of a wallet cannot be reversed together with the denial that caused it.
            self.ends[.deniedLink, default: Wallets()].add(linked, at: at)
            self.reversible[.denial(mac)] = self.reversible[.denial(mac)] ?? at
        case .setSolutionRevoked: self.reversible[.solution] = record.at
        case .allow, .block: break
        }
    }

    private static func reversed(by record: AuditRecord) -> Reversible? {
        switch record.event {
        case .removeDenied: record.subject.recoveryCode.map { .denial($0) }
        case .restoreSolution: .solution
        default: nil
        }
    }

    /// Returns the changes that are not in force in the store.
    ///
    /// In a shared store, these are only the ends and permanent blocks of wallets, because another server's log may
    /// have the reversal of any other change.
    func lost(from store: any ServedStore) async throws -> [LostChange] {
        var lost: [LostChange] = []
        for (event, wallets) in self.ends.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            lost += try await wallets.lost { try await store.inUse($0) }
                .map { LostChange(event: event, subject: AuditSubject(wallets: $0.wallets), at: $0.at) }
        }
        lost += try await self.blocks.lost { try await store.unblocked($0) }
            .map { LostChange(event: .blockedPermanently, subject: AuditSubject(wallets: $0.wallets), at: $0.at) }
        guard !store.isShared else { return lost }
        for (change, at) in self.reversible {
            switch change {
            case .denial(let mac):
                guard try await store.denied(mac) == nil else { continue }
                let linked = try await store.wallets(linkedTo: mac)
                let subject = AuditSubject(wallets: linked, recoveryCode: mac)
                lost.append(LostChange(event: .revokeRecoveryCode, subject: subject, at: at))
            case .solution:
                guard try await !store.isSolutionRevoked() else { continue }
                lost.append(LostChange(event: .revokeSolution, subject: AuditSubject(), at: at))
            }
        }
        return lost
    }
}

/// A change that an audit log records as done and the store had, but that was not in force when the server started.
package struct LostChange: Hashable, Sendable {
    package let event: AuditEvent
    package let subject: AuditSubject
    /// The time of the change.
    package let at: Timestamp
}

extension LostChange {
    /// The detail of the entries that record the repetition.
    private static let detail = "on record as done, but not in force at the start"

    /// Carries the change out again and records that.
    func `repeat`(in store: any ServedStore, _ audit: AuditLog) async throws {
        if self.event == .blockedPermanently {
            let count = try await store.blockPermanently(self.subject.wallets)
            let done = AuditPhase.done(of: nil, result: "\(count) blocked again")
            for part in self.subject.inParts {
                try await audit.append(self.event, by: .server, on: part, done, detail: Self.detail)
            }
            return
        }
        for part in self.subject.inParts {
            guard let step = AuditReplay.ending(self.event, part, at: self.at) else { continue }
            let begun = try await audit.append(self.event, by: .server, on: part, .begun, detail: Self.detail).number
            var report = ReplayReport()
            try await step.carryOut(on: store, &report)
            let done = AuditPhase.done(of: begun, result: "repeated; \(Restoration.wallets(report.ended)) ended again")
            await audit.mustAppend(self.event, by: .server, on: part, done, detail: Self.detail)
        }
    }
}
