package import Vocabulary

/// How far something is that goes on by itself.
package enum UpkeepState: Hashable, Sendable, CaseIterable {
    case running
    case done
    case failed
}

/// How far what is done to the store as a whole is.
package struct UpkeepReport: Hashable, Sendable {
    /// Of the store, from 1 on.
    package var epoch: Int
    /// The last one since the start.
    package var backup: BackupReport?
    package var reseal: ResealReport?

    package init(epoch: Int, backup: BackupReport? = nil, reseal: ResealReport? = nil) {
        self.epoch = epoch
        self.backup = backup
        self.reseal = reseal
    }
}

/// A backup that is made, or was.
package struct BackupReport: Hashable, Sendable {
    /// At most ``AdminCommand/longestPath`` bytes.
    package var path: String
    package var state = UpkeepState.running
    package var pagesCopied = 0
    /// 0 where it is not known yet.
    package var pages = 0
    /// Of the file, once done.
    package var byteCount = 0
    /// Once done: the moment whose state it holds.
    package var takenAt: Timestamp?
    /// Why it failed, in at most 512 bytes.
    package var problem: String?

    package init(path: String) {
        self.path = path
    }
}

/// What older key versions sealed, sealed anew.
package struct ResealReport: Hashable, Sendable {
    /// The key version that seals.
    package var version: UInt32
    /// What failed is tried again.
    package var state = UpkeepState.running
    package var walletsDone = 0
    package var wallets = 0
    /// Why it failed, in at most 512 bytes.
    package var problem: String?

    package init(version: UInt32) {
        self.version = version
    }
}

/// A version of the vault's keys.
package struct VaultKeyVersion: Hashable, Sendable {
    package var version: UInt32
    /// It seals.
    package var isActive: Bool
    /// Values that it sealed and that are on file.
    package var values: Int
    /// Nil where it is not known.
    package var activeSince: Timestamp?
    /// Nothing needs it any more but older backups.
    package var isRetirable: Bool

    package init(version: UInt32, isActive: Bool, values: Int, activeSince: Timestamp?, isRetirable: Bool) {
        self.version = version
        self.isActive = isActive
        self.values = values
        self.activeSince = activeSince
        self.isRetirable = isRetirable
    }
}
