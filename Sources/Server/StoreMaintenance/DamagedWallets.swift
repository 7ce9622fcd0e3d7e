internal import Vault
internal import Vocabulary
internal import WalletStore

/// Wallets in use with a sealed value that cannot be opened.
struct DamagedWallets: Error, Hashable, CustomStringConvertible {
    var ids: [WalletID]

    /// Describes the problem and how to solve it.
    ///
    /// The text must be shorter than the limit for a sentence in an answer.
    var description: String {
        "The sealed values of \(self.ids.named(atMost: 4)) do not open with the keys of the key file. If no copy of "
            + "the file has the missing key, end these wallets with `admin revoke wallet`; the rotation then continues."
    }
}

extension [WalletID] {
    /// Returns the first ids and the number of remaining ones, such as "wallet …" or "wallets …, … and 3 more".
    package func named(atMost limit: Int) -> String {
        let more = self.count > limit ? " and \(self.count - limit) more" : ""
        let names = self.prefix(limit).map(\.description).joined(separator: ", ")
        return "wallet\(self.count == 1 ? "" : "s") \(names)\(more)"
    }
}

extension MaintenanceStore {
    /// Calls `body` with the sealed values of every wallet, for at most `limit` wallets at a time.
    func forEachStep(of limit: Int, _ body: ([SealedWallet]) async throws -> Void) async throws {
        var after: UInt64?
        while true {
            let page = try await self.sealedValues(after: after, limit: limit)
            try await body(page)
            guard page.count == limit, let last = page.last else { return }
            after = last.cursor
        }
    }
}

extension SealedWallet {
    /// Whether the wallet has ended, in which case its shares are destroyed and only its identity remains.
    var hasEnded: Bool { self.values.shares == nil }
}

extension SealedValues {
    /// The sealed values, each with the field it was sealed for.
    var byField: [(field: VaultField, sealed: Sealed)] {
        var values: [(VaultField, Sealed)] = [(.identity, self.identity)]
        if let shares {
            values += [(.unlockShare, shares.unlock), (.presenceShare, shares.presence)]
            if let code = shares.deletionCode { values.append((.deletionCode, code)) }
            if let unlock = shares.next.unlock { values.append((.unlockShare, unlock)) }
            if let presence = shares.next.presence { values.append((.presenceShare, presence)) }
        }
        return values
    }
}
