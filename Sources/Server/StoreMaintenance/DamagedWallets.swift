internal import Vault
internal import Vocabulary
internal import WalletStore

/// Wallets in use for which something is sealed that does not open.
struct DamagedWallets: Error, Hashable, CustomStringConvertible {
    var ids: [WalletID]

    /// With the way out, in less than an answer's sentence may have.
    var description: String {
        "What is sealed for \(self.ids.named(atMost: 4)) does not open with the key file's keys. Where no copy of the file has "
            + "a key that it lacks, `admin revoke wallet` ends what cannot be helped, and nothing waits for it any more."
    }
}

extension [WalletID] {
    /// The first ones, and how many there are besides: "wallet …", "wallets …, … and 3 more".
    package func named(atMost limit: Int) -> String {
        let more = self.count > limit ? " and \(self.count - limit) more" : ""
        return
            "wallet\(self.count == 1 ? "" : "s") \(self.prefix(limit).map(\.description).joined(separator: ", "))\(more)"
    }
}

extension SealedWallet {
    /// Whether it has ended: its shares are destroyed, and what is left says who it was, and nothing else.
    var hasEnded: Bool { self.values.shares == nil }
}

extension SealedValues {
    /// Each value with the field as which it is sealed.
    var byField: [(field: VaultField, sealed: Sealed)] {
        var values: [(VaultField, Sealed)] = [(.identity, self.identity)]
        if let shares {
            values += [(.unlockShare, shares.unlock), (.presenceShare, shares.presence)]
            if let code = shares.deletionCode { values.append((.deletionCode, code)) }
        }
        return values
    }
}
