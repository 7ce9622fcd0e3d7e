package import AuditLog
package import Vocabulary
package import WalletStore

/// The changes that an audit log records as done up to the store's mark.
///
/// The store had each of them once. All of these that cannot be reversed, and those whose reversal is not on record,
/// must still be in force.
///
/// Threat (G7): an attacker who can write to the database puts the older row of a revoked wallet back. Its values are
/// genuine, so no MAC reveals it, and the store names the same entry of the log as before.
///
/// The update policy of an embedded store is one of them: a rule that blocks a version must not go back to an earlier
/// one or to none. The flags are not, because no wallet is safer without a feature.
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
    /// The rules of each platform that the log records last, or nil if those in the settings apply.
    private var policies: [Platform: Policy] = [:]
    /// The policies before a change that was begun, by the number of its entry.
    ///
    /// Until the change ends, the store may have either.
    private var changing: [UInt64: [Platform: Policy]] = [:]

    /// The recorded rules of a platform.
    private struct Policy {
        let text: String?
        let at: Timestamp
    }

    /// Processes the next log entry.
    ///
    /// - Parameter isInStore: Whether the entry is no newer than the store's mark.
    mutating func read(_ entry: AuditEntry, isInStore: Bool) {
        let record = entry.record
        self.readPolicy(entry)
        switch record.phase {
        case .begun:
            guard let change = Self.reversed(by: record), let at = self.reversible.removeValue(forKey: change) else {
                return
            }
            self.reversing[entry.number] = (change, at)
        case .failed(let of?, _):
            if let (change, at) = self.reversing.removeValue(forKey: of) { self.reversible[change] = at }
        case .done(_?, _): self.add(record, isInStore: isInStore)
        case .done(nil, _):
            if isInStore, record.event == .blockedPermanently { self.blocks.add(record.subject.wallets, at: record.at) }
        case .failed(nil, _), .unclear: break
        }
    }

    /// Notes that the next entry is from another log.
    ///
    /// The restore between the logs may have replaced the update policy.
    mutating func endLog() { (self.reversing, self.policies, self.changing) = ([:], [:], [:]) }

    private mutating func readPolicy(_ entry: AuditEntry) {
        let record = entry.record
        // A restored store has the policy of its backup.
        if record.event == .restore { (self.policies, self.changing) = ([:], [:]) }
        switch record.phase {
        case .begun:
            guard let change = Self.policy(in: record) else { return }
            self.changing[entry.number] = self.policies.filter { change.platforms.contains($0.key) }
            for platform in change.platforms { self.policies[platform] = nil }
        case .failed(let of?, _):
            if let before = self.changing.removeValue(forKey: of) { self.policies.merge(before) { $1 } }
        case .done(let of?, _):
            guard let change = Self.policy(in: record) else { return }
            self.changing[of] = nil
            for platform in change.platforms { self.policies[platform] = Policy(text: change.text, at: record.at) }
        case .unclear, .done(nil, _), .failed(nil, _): break
        }
    }

    /// Returns the platforms whose update policy an entry changes and the new rules, or nil for any other entry.
    private static func policy(in record: AuditRecord) -> (platforms: [Platform], text: String?)? {
        guard record.event == .setUpdatePolicy || record.event == .clearUpdatePolicy, var rest = record.detail?[...]
        else { return nil }
        var platforms: [Platform] = []
        while let platform = Platform(rawValue: String(rest.prefix { $0 != " " })) {
            platforms.append(platform)
            rest = rest.drop { $0 != " " }.dropFirst()
        }
        guard !platforms.isEmpty else { return nil }
        return (platforms, record.event == .setUpdatePolicy ? String(rest) : nil)
    }

    private mutating func add(_ record: AuditRecord, isInStore: Bool) {
        guard let step = AuditReplay.ending(record) else { return }
        switch step {
        case .end(let wallets, _, let at):
            if isInStore { self.ends[record.event, default: Wallets()].add(wallets, at: at) }
        case .deny(let mac, let linked, let at):
            // The end of a wallet cannot be reversed together with the denial that caused it.
            if isInStore { self.ends[.deniedLink, default: Wallets()].add(linked, at: at) }
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
    /// A shared store names the reversals of changes by any of its servers. The update policy is compared only in an
    /// embedded store, because another server's log may have a later one.
    func lost(from store: any ServedStore) async throws -> [LostChange] {
        var lost: [LostChange] = []
        for (event, wallets) in self.ends.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            lost += try await wallets.lost { try await store.inUse($0) }
                .map { LostChange(event: event, subject: AuditSubject(wallets: $0.wallets), at: $0.at) }
        }
        lost += try await self.blocks.lost { try await store.unblocked($0) }
            .map { LostChange(event: .blockedPermanently, subject: AuditSubject(wallets: $0.wallets), at: $0.at) }
        let values = try await store.operatorValues().values
        for (change, at) in self.reversible {
            switch change {
            case .denial(let mac):
                if let reversal = values[OperatorValues.reversal(of: mac)], reversal.setAt >= at { continue }
                guard try await store.denied(mac) == nil else { continue }
                let linked = try await store.wallets(linkedTo: mac)
                let subject = AuditSubject(wallets: linked, recoveryCode: mac)
                lost.append(LostChange(event: .revokeRecoveryCode, subject: subject, at: at))
            case .solution:
                if let reversal = values[OperatorValues.solutionReversal], reversal.setAt >= at { continue }
                guard try await !store.isSolutionRevoked() else { continue }
                lost.append(LostChange(event: .revokeSolution, subject: AuditSubject(), at: at))
            }
        }
        guard !store.isShared else { return lost }
        for (platform, policy) in self.policies where values[platform.policyName]?.text != policy.text {
            let event = policy.text == nil ? AuditEvent.clearUpdatePolicy : .setUpdatePolicy
            let values = [platform.policyName: policy.text]
            lost.append(LostChange(event: event, subject: AuditSubject(), at: policy.at, values: values))
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
    /// The operator's values that the change sets or removes.
    var values: [String: String?] = [:]
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
        if !self.values.isEmpty {
            let detail = "\(self.values.keys.sorted().joined(separator: ", ")): \(Self.detail)"
            let begun = try await audit.append(self.event, by: .server, .begun, detail: detail).number
            _ = try await store.setOperatorValues(self.values, at: self.at)
            let done = AuditPhase.done(of: begun, result: "repeated")
            await audit.mustAppend(self.event, by: .server, done, detail: detail)
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

extension StoredAuditMark {
    /// Converts a mark to its stored form.
    package init(_ mark: AuditMark) {
        self.init(number: mark.number, mac: mark.mac)
    }
}

extension AuditMark {
    /// Converts a mark from its stored form.
    package init(_ stored: StoredAuditMark) {
        self.init(number: stored.number, mac: stored.mac)
    }
}
