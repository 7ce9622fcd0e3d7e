package import PINPolicy
package import Vault
package import Vocabulary
package import WalletStore

/// The records of epochs.
///
/// Each has a MAC by the vault that also covers the previous record's MAC. An attacker who can write to the database
/// but cannot use the vault can remove records, which the epochs in the audit log reveal. The attacker can neither
/// forge nor change a record, so a rule cannot be replaced with a more lenient one.
package enum EpochRecords {
    /// Returns whether every record is unchanged since it was created by a restore with this vault.
    package static func areGenuine(_ epochs: [StoredEpoch], by vault: any Vault) -> Bool {
        var previous: [UInt8] = []
        var previousMAC: VersionedMAC?
        for epoch in epochs {
            let message = Self.message(epoch.number, epoch.rule, epoch.openedAt, previous)
            guard let mac = VersionedMAC(epoch.mac), mac.continues(previousMAC) else { return false }
            previousMAC = mac
            guard vault.isMAC(epoch.mac, of: message, for: .storeEpoch) else { return false }
            previous = epoch.mac
        }
        return true
    }

    /// Creates the records that lead from `epochs` to epoch `number`.
    ///
    /// Interrupted restores may have used up the numbers in between. The records for those numbers do not charge any
    /// attempts. Only the last record has the rule.
    package static func next(
        _ number: Int,
        _ rule: EpochRule,
        at now: Timestamp,
        after epochs: [StoredEpoch],
        by vault: any Vault
    ) -> [StoredEpoch] {
        precondition(number > epochs.count + 1, "epochs rise")
        var previous = epochs.last?.mac ?? []
        var records: [StoredEpoch] = []
        for step in (epochs.count + 2)...number {
            let stepRule = step == number ? rule : .trust
            let mac = vault.mac(Self.message(step, stepRule, now, previous), for: .storeEpoch)
            records.append(StoredEpoch(number: step, rule: stepRule, openedAt: now, mac: mac))
            previous = mac
        }
        return records
    }

    private static func message(_ number: Int, _ rule: EpochRule, _ at: Timestamp, _ previous: [UInt8]) -> [UInt8] {
        Array("\(number) \(rule.rawValue) \(at.milliseconds) \(previous.hex)".utf8)
    }
}
