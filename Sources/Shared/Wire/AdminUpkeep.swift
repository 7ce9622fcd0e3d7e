public import Vocabulary

/// How far something is that goes on by itself.
public enum UpkeepState: Hashable, Sendable, CaseIterable {
    case running
    case done
    case failed
}

/// How far what is done to the store as a whole is.
public struct UpkeepReport: Hashable, Sendable {
    /// Of the store, from 1 on.
    public var epoch: Int
    /// The last one since the start.
    public var backup: BackupReport?
    public var reseal: ResealReport?

    public init(epoch: Int, backup: BackupReport? = nil, reseal: ResealReport? = nil) {
        self.epoch = epoch
        self.backup = backup
        self.reseal = reseal
    }
}

/// A backup that is made, or was.
public struct BackupReport: Hashable, Sendable {
    /// At most ``AdminCommand/longestPath`` bytes.
    public var path: String
    public var state = UpkeepState.running
    public var pagesCopied = 0
    /// 0 where it is not known yet.
    public var pages = 0
    /// Of the file, once done.
    public var byteCount = 0
    /// Once done: the moment whose state it holds.
    public var takenAt: Timestamp?
    /// Why it failed, in at most 512 bytes.
    public var problem: String?

    public init(path: String) {
        self.path = path
    }
}

/// What older key versions sealed, sealed anew.
public struct ResealReport: Hashable, Sendable {
    /// The key version that seals.
    public var version: UInt32
    /// What failed is tried again.
    public var state = UpkeepState.running
    public var walletsDone = 0
    public var wallets = 0
    /// Why it failed, in at most 512 bytes.
    public var problem: String?

    public init(version: UInt32) {
        self.version = version
    }
}

/// A version of the vault's keys.
public struct VaultKeyVersion: Hashable, Sendable {
    public var version: UInt32
    /// It seals.
    public var isActive: Bool
    /// Values that it sealed and that are on file.
    public var values: Int
    /// Nil where it is not known.
    public var activeSince: Timestamp?
    /// Nothing needs it any more but older backups.
    public var isRetirable: Bool

    public init(version: UInt32, isActive: Bool, values: Int, activeSince: Timestamp?, isRetirable: Bool) {
        self.version = version
        self.isActive = isActive
        self.values = values
        self.activeSince = activeSince
        self.isRetirable = isRetirable
    }
}
