package import PINPolicy
package import Vocabulary

/// An epoch that was opened by a restore.
package struct StoredEpoch: Hashable, Sendable {
    /// The number of the epoch, at least 2 because the first epoch has no record.
    package var number: Int
    package var rule: EpochRule
    package var openedAt: Timestamp
    /// The vault's MAC over this record and the MAC of the previous record.
    package var mac: [UInt8]

    package init(number: Int, rule: EpochRule, openedAt: Timestamp, mac: [UInt8]) {
        self.number = number
        self.rule = rule
        self.openedAt = openedAt
        self.mac = mac
    }
}
