package import Vocabulary

/// The values set by operators, stored as text by name.
package struct OperatorValues: Hashable, Sendable {
    /// Increases with every change, so that an older state can be recognized.
    package var revision: Int64
    package var values: [String: Value]

    /// A text and the time at which it was set.
    package struct Value: Hashable, Sendable {
        package var text: String
        package var setAt: Timestamp

        package init(_ text: String, setAt: Timestamp) {
            self.text = text
            self.setAt = setAt
        }
    }

    package init(revision: Int64, values: [String: Value]) {
        self.revision = revision
        self.values = values
    }
}

extension Platform {
    /// The name of the value for the platform's update policy.
    package var policyName: String { "update-policy \(self.rawValue)" }
}

/// The names of the values in a shared store that tell a denial or revocation that an operator reversed, at any of its
/// servers, from one whose row another program removed.
extension OperatorValues {
    package static func reversal(of mac: RecoveryCodeMAC) -> String { "deny-list removed \(mac)" }
    package static let solutionReversal = "solution restored"
}

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

// MARK: Values of operators

private let allValues = SideStatement.read(.operatorValues)
private let setting = SideStatement.insert(into: .operatorValues, ifKnown: .isReplaced)
private let unsetting = SideStatement.delete(from: .operatorValues, where: ("name", .equals))

extension Rows {
    func set(_ name: String, to value: OperatorValues.Value) throws {
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

// MARK: -

extension WalletStore {
    /// Revokes the whole solution or reverses its revocation.
    ///
    /// Returns whether anything changed. Does not destroy any shares.
    package func setSolutionRevoked(_ isRevoked: Bool) async throws(StoreError) -> Bool {
        try await self.perform(SetSolutionRevoked(isRevoked: isRevoked))
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
