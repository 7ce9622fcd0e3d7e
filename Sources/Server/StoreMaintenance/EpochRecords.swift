internal import PINPolicy
package import Vault
internal import Vocabulary
package import WalletStore

/// The records of epochs, each under the vault's MAC together with its predecessor's.
///
/// Who writes the database without the vault can take records away, which the audit log's epochs show, but make none and
/// change none: no rule becomes a milder one.
package enum EpochRecords {
    /// Whether every record is as a restore with this vault made it.
    package static func areGenuine(_ epochs: [StoredEpoch], by vault: any Vault) async throws(VaultError) -> Bool {
        var previous: [UInt8] = []
        for epoch in epochs {
            let message = Self.message(epoch.number, epoch.rule, epoch.openedAt, previous)
            guard try await vault.isMAC(epoch.mac, of: message, for: .storeEpoch) else { return false }
            previous = epoch.mac
        }
        return true
    }

    /// The records that lead from `epochs` to the epoch `number`: where numbers were used up by restores that were killed,
    /// those that fill the gap cost nothing, and the last one has the rule.
    static func next(
        _ number: Int,
        _ rule: EpochRule,
        at now: Timestamp,
        after epochs: [StoredEpoch],
        by vault: any Vault
    ) async throws(VaultError) -> [StoredEpoch] {
        precondition(number > epochs.count + 1, "epochs rise")
        var previous = epochs.last?.mac ?? []
        var records: [StoredEpoch] = []
        for step in (epochs.count + 2)...number {
            let stepRule = step == number ? rule : .trust
            let mac = try await vault.mac(Self.message(step, stepRule, now, previous), for: .storeEpoch)
            records.append(StoredEpoch(number: step, rule: stepRule, openedAt: now, mac: mac))
            previous = mac
        }
        return records
    }

    private static func message(_ number: Int, _ rule: EpochRule, _ at: Timestamp, _ previous: [UInt8]) -> [UInt8] {
        Array("\(number) \(rule.rawValue) \(at.milliseconds) \(previous.hex)".utf8)
    }
}
