internal import PostgreSQLClient
internal import Vocabulary
internal import WalletStore

/// Steps for attempts with an instruction that writes, and for confirmations of shares.
extension StoreTransaction {
    /// The class of the advisory locks of recovery codes.
    private static let codeLocks: Int64 = 0x7250_494E

    /// Counts and judges an attempt and writes its effect, in one transaction with the deny list.
    ///
    /// Both rows are written for every verdict, so that a full disk does not reveal whether a PIN was right.
    func step(_ attempt: Attempt) throws -> (outcome: AttemptOutcome, leaf: AttemptLeaf?) {
        if case .linkRecoveryCode(let mac) = attempt.effect { try self.lock(recoveryCode: mac) }
        guard var values = try self.lock(attempt.walletID) else { throw StoreError.corrupt }
        let (outcome, judgment, leaf) = try values.decide(attempt, self.facts)
        guard let judgment else {
            try self.keep(values)
            return (outcome, nil)
        }
        let isRight = judgment.verdict == .valid
        let effect = isRight ? try values.row.apply(attempt.effect) { try self.denied($0) != nil } : outcome
        try self.keepAll(values)
        return (effect, leaf)
    }

    /// Orders a link to a recovery code and the code's denial, so that the later one sees the earlier one's commit.
    ///
    /// Otherwise, each could read the state before the other (write skew), and the wallet would stay linked and in use.
    func lock(recoveryCode mac: [UInt8]) throws {
        try self.run(
            "select pg_advisory_xact_lock(hashtextextended(encode($1, 'hex'), $2))",
            [.bytes(mac), .number(Self.codeLocks)]
        )
    }

    /// Returns the time at which a recovery code was denied, or nil if it is not on the deny list.
    func denied(_ mac: [UInt8]) throws -> Timestamp? {
        let found = try self.run("select denied_at from denied_recovery_codes where mac = $1", [.bytes(mac)])
        return found.count == 0 ? nil : try found.time(0, 0)
    }

    func confirm(_ confirmation: ShareConfirmation) throws -> ShareConfirmationOutcome {
        guard var values = try self.lock(confirmation.walletID) else { throw StoreError.corrupt }
        if let revocation = values.row.state.revocation(isSolutionRevoked: self.facts.isSolutionRevoked) {
            return .revoked(revocation)
        }
        // A PIN change that was sent earlier takes effect before this step or, because it names the old identity,
        // never.
        guard values.row.identity == confirmation.identity,
            confirmation.resealed.count == values.row.identity.count
        else { return .notOffered }
        values.row.identity = confirmation.resealed
        if let unlock = confirmation.unlock {
            guard unlock == values.next.unlock, unlock.count == values.row.unlockShare.count else { return .notOffered }
            values.row.unlockShare = unlock
            values.next.unlock = nil
        }
        if let presence = confirmation.presence {
            guard presence == values.next.presence, presence.count == values.row.presenceShare.count else {
                return .notOffered
            }
            values.row.presenceShare = presence
            values.next.presence = nil
        }
        try self.keepAll(values)
        return .replaced
    }
}

extension PostgreSQLRows {
    /// A time in milliseconds, which the store always writes.
    func time(_ row: Int, _ column: Int) throws(StoreError) -> Timestamp {
        guard let number = self.number(row, column) else { throw .corrupt }
        return Timestamp(milliseconds: number)
    }

    /// An identifier, which the store always writes.
    func identifier<Kind>(_ row: Int, _ column: Int) throws(StoreError) -> FixedBytes<Kind> {
        guard let value = self.bytes(row, column).flatMap({ FixedBytes<Kind>($0) }) else { throw .corrupt }
        return value
    }

    /// The cursor in this column after which the next page begins, or nil if fewer than `limit` rows were found.
    func nextPage(after column: Int, _ limit: Int) -> UInt64? {
        self.count < limit ? nil : self.number(self.count - 1, column).map { UInt64(bitPattern: $0) }
    }
}

extension PostgreSQLValue {
    /// The cursor after which a page of rows begins, or nil for the first page.
    static func after(_ cursor: UInt64?) -> PostgreSQLValue { .number(cursor.map { Int64(bitPattern: $0) } ?? -1) }
}
