package import Vocabulary

/// A vault key version as recorded in the store.
package struct StoredVaultVersion: Hashable, Sendable {
    package var version: UInt32
    /// The time at which the version first sealed a value.
    package var activeSince: Timestamp
    /// The time at which a pass over every wallet found no value sealed with an older version, or nil until then.
    package var sealedAnewAt: Timestamp?
    /// The check value that identifies the version's key.
    package var check: [UInt8]

    package init(version: UInt32, activeSince: Timestamp, sealedAnewAt: Timestamp?, check: [UInt8]) {
        self.version = version
        self.activeSince = activeSince
        self.sealedAnewAt = sealedAnewAt
        self.check = check
    }
}
