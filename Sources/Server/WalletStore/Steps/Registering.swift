internal import Vocabulary

extension WalletStore {
    /// Stores a registration.
    ///
    /// Replaces one with the same token and hardware key if it has had no session yet.
    package func register(_ registration: NewRegistration) async throws(StoreError) -> RegisterOutcome {
        try await self.perform(registration)
    }
}

private let barredKey = SideStatement.read(.barredHardwareKeys, where: ("digest", .equals))

extension NewRegistration: StoreStep {
    package static let access = StepAccess.writing

    package func run(in rows: some Rows) throws -> RegisterOutcome {
        if rows.facts.isSolutionRevoked { return .solutionRevoked }
        let barred = try rows.query(barredKey, [.bytes(self.hardwareKeyDigest.bytes)])
        guard barred.isEmpty else { return .hardwareKeyBarred }  // rule: store-barred-key-registers
        if let found = try rows.hold(self.walletID, with: []) {
            if let rejection = found.wallet.row.rejection(of: self) { return rejection }
            // The new values may differ in length.
            try rows.remove([found.id])
        }
        try rows.insert(self)
        return .registered(receiptVersion: rows.facts.receiptVersion)
    }
}
