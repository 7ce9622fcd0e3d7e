internal import PostgreSQLClient
internal import Vocabulary
internal import WalletStore

/// Steps that read and change data for operators.
extension StoreTransaction {
    func setSolutionRevoked(_ isRevoked: Bool) throws {
        self.endsAll = isRevoked
        try self.run(.facts(.setSolutionRevoked(isRevoked)))
    }

    /// Records the reversal at the time of the database.
    func note(reversal name: String) throws {
        try self.run(.server(.noteReversal(name)))
    }

    /// Replaces the policy shared by all servers with this server's.
    func setPolicy() throws {
        self.isOnRecord = true
        try self.run("update facts set policy = $1", [.text(self.policy.text)])
    }

    func operatorRevision() throws -> Int64? {
        try self.run(.facts(.operatorRevision)).number(0, 0)
    }

    func raiseOperatorRevision() throws {
        try self.run("update facts set operator_revision = operator_revision + 1")
    }

    func keepLastSessions(_ sessions: [(wallet: WalletID, at: Timestamp)]) throws {
        for (wallet, at) in sessions {
            try self.run(.wallet(.keepLastSession(wallet, at: at)))
        }
    }
}
