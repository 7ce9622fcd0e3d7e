package import Vocabulary

// MARK: The solution

/// Revokes the whole solution or reverses its revocation; answers whether anything changed.
package struct SetSolutionRevoked: StoreStep {
    let isRevoked: Bool
    package static let access = StepAccess.changingFacts

    package func run(in rows: some Rows) throws -> Bool {
        guard rows.facts.isSolutionRevoked != self.isRevoked else { return false }
        try rows.setSolutionRevoked(self.isRevoked)
        try rows.noteAudited()
        if !self.isRevoked { try rows.note(reversal: OperatorValues.solutionReversal) }
        return true
    }
}

// MARK: The deny list

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

// MARK: Values of operators

private let allValues = SideStatement.read(.operatorValues)
private let setting = SideStatement.insert(into: .operatorValues, ifKnown: .isReplaced)
private let unsetting = SideStatement.delete(from: .operatorValues, where: ("name", .equals))

extension Rows {
    package func set(_ name: String, to value: OperatorValues.Value) throws {
        try self.query(setting, [.text(name), .text(value.text), .number(value.setAt.milliseconds)])
    }
}

package struct ReadOperatorValues: StoreStep {
    package static let access = StepAccess.reading

    package init() {}

    package func run(in rows: some Rows) throws -> OperatorValues {
        guard let revision = try rows.operatorRevision() else { throw StoreError.corrupt }
        var values: [String: OperatorValues.Value] = [:]
        for row in try rows.query(allValues, []) {
            values[try row.text(0)] = OperatorValues.Value(try row.text(1), setAt: try row.time(2))
        }
        return OperatorValues(revision: revision, values: values)
    }
}

package struct SetOperatorValues: StoreStep {
    let values: [String: String?]
    let now: Timestamp
    package static let access = StepAccess.changingFacts

    package func run(in rows: some Rows) throws -> OperatorValues {
        for (name, text) in self.values {
            if let text {
                try rows.set(name, to: OperatorValues.Value(text, setAt: self.now))
            } else {
                try rows.query(unsetting, [.text(name)])
            }
        }
        try rows.raiseOperatorRevision()
        return try ReadOperatorValues().run(in: rows)
    }
}

// MARK: Deletion codes

package struct WalletOfDeletionCode: StoreStep {
    let digest: SHA256Digest
    package static let access = StepAccess.reading

    package func run(in rows: some Rows) throws -> WalletID? { try rows.wallet(ofDeletionCode: self.digest) }
}

private let purgedCode = SideStatement.read(.purgedCodes, where: ("digest", .equals))

package struct TimeOfPurgedEnd: StoreStep {
    let digest: SHA256Digest
    package static let access = StepAccess.reading

    package func run(in rows: some Rows) throws -> Timestamp? {
        try rows.query(purgedCode, [.bytes(self.digest.bytes)]).first?.time(1)
    }
}

// MARK: The audit log

package struct KeepAuditMark: StoreStep {
    package static let access = StepAccess.writing

    package func run(in rows: some Rows) throws { try rows.noteAudited() }
}

// MARK: -

extension StepStore {
    /// Stores the announced audit log entry without waiting for a change.
    package func keepAuditMark() async throws(StoreError) { try await self.perform(KeepAuditMark()) }

    /// Revokes the whole solution or reverses its revocation.
    ///
    /// Returns whether anything changed. Does not destroy any shares.
    package func setSolutionRevoked(_ isRevoked: Bool) async throws(StoreError) -> Bool {
        try await self.perform(SetSolutionRevoked(isRevoked: isRevoked))
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

    /// Returns all values that operators have set.
    package func operatorValues() async throws(StoreError) -> OperatorValues {
        try await self.perform(ReadOperatorValues())
    }

    /// Sets values in one step and returns all values.
    ///
    /// Values that are nil are removed.
    package func setOperatorValues(
        _ values: [String: String?],
        at now: Timestamp
    ) async throws(StoreError) -> OperatorValues {
        try await self.perform(SetOperatorValues(values: values, now: now))
    }

    /// Returns the wallet whose deletion code has this SHA-256 digest, or nil if there is none.
    package func wallet(ofDeletionCode digest: SHA256Digest) async throws(StoreError) -> WalletID? {
        try await self.perform(WalletOfDeletionCode(digest: digest))
    }

    /// Returns the time at which the purged wallet whose deletion code has this SHA-256 digest ended, or nil if there
    /// is none.
    package func purged(deletionCode digest: SHA256Digest) async throws(StoreError) -> Timestamp? {
        try await self.perform(TimeOfPurgedEnd(digest: digest))
    }
}
