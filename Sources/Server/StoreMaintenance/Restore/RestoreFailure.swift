package import AuditLog
package import HostSystem
internal import Vault
package import Vocabulary
package import WalletStore

/// A reason why a backup was not restored.
///
/// Except after ``placed(_:)``, the data folder contains no store.
package enum RestoreFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// The file is not a backup or is incomplete.
    ///
    /// Use another one.
    case notABackup(String)
    /// The backup was not made with this vault's key, or it was changed since.
    ///
    /// Use another backup or the matching key file.
    case foreign(String)
    /// The bytes do not match the digest in the label, because the disk is damaged or the file was changed.
    ///
    /// Use another backup.
    case damaged(String)
    /// The database is damaged or contains definitions that this server does not create.
    ///
    /// Use another backup.
    case unsound(String, [String])
    /// A sealed value cannot be opened with this vault's key.
    ///
    /// Use the key file with the versions from the time of the backup.
    case sealed(wallet: String)
    /// These wallets have values that cannot be opened although the key is right, or attempt records without a valid
    /// MAC.
    ///
    /// End the wallets with ``Restoration/Parts/endsDamaged`` or use an older backup.
    case damagedWallets([WalletID])
    /// The backup was made from a store that lacks counted attempts, but the rule does not charge any.
    case uncharged(String)
    /// An epoch record, or the epoch that a wallet names, was not created by a restore.
    case epochs(String)
    /// The data folder contains a store or cannot be used.
    case store(StoreOpenError)
    /// A step on the staged store failed.
    ///
    /// Start the restore again.
    case step(StoreError)
    /// The audit log rejected the restore, so nothing was restored.
    case audit(AuditLogError)
    /// The backup or the data folder cannot be read or written.
    case file(FileError)
    /// The vault did not answer.
    case vault
    /// The store is in place, but the audit log rejected the entry for it.
    case placed(AuditLogError)

    /// Converts an error from a step of the restore; returns nil for an error from the caller's closures.
    init?(_ error: any Error) {
        switch error {
        case let error as RestoreFailure: self = error
        case let error as StoreOpenError: self = .store(error)
        case let error as StoreError: self = .step(error)
        case let error as AuditLogError: self = .audit(error)
        case let error as FileError: self = .file(error)
        case is VaultError: self = .vault
        default: return nil
        }
    }

    package var description: String {
        switch self {
        case .notABackup(let path): "\(path) is not a backup or is incomplete"
        case .foreign(let path): "\(path) was not made with this vault's key, or was changed since"
        case .damaged(let path):
            "the pages of \(path) differ from its label's digest: the file is damaged or was changed; use another "
                + "backup"
        case .unsound(let path, let reasons): "the database in \(path) is not sound: " + reasons.joined(separator: "; ")
        case .sealed(let wallet):
            "a sealed value of wallet \(wallet) does not open with this vault's key; use the key file of the backup's "
                + "time, with all its versions"
        case .damagedWallets(let wallets):
            "a value of \(wallets.named(atMost: 8)) cannot be read or does not open with the key that sealed it, or "
                + "the MAC of the attempt record does not match: it was damaged before the backup was made. Use "
                + "--end-damaged to end these wallets, on record, and restore the others, or an older backup, which "
                + "may have them intact"
        case .uncharged(let path):
            "\(path) is the copy of a damaged store, which lacks counted attempts; use --epoch strict or charge-one"
        case .epochs(let path): "no restore made the epoch records in \(path); use another backup"
        case .store(let error): error.description
        case .step(.unavailable), .step(.notErased), .step(.notCertified), .step(.outcomeUnknown):
            "the restored store cannot be changed; is the disk full?"
        case .step(.corrupt): "the restored store holds data that no server wrote; use another backup"
        case .audit(let error): "the audit log rejected the restore: \(error)"
        case .file(let error): error.description
        case .vault: "the vault did not answer"
        case .placed(let error): "the store is restored, but the audit log rejected the entry that says so: \(error)"
        }
    }
}

/// A reason why an audit log does not cover all changes since a backup.
package enum LogProblem: Hashable, Sendable, CustomStringConvertible {
    /// The log does not exist.
    case missing(String)
    /// The log was changed.
    ///
    /// It is intact up to some entry.
    case damaged(String, AuditProblem)
    /// The log lacks the entry that was newest at the time of the backup, so it was truncated or is a different log.
    case otherLog(String, AuditProblem)

    package var description: String {
        switch self {
        case .missing(let path): "there is no audit log at \(path)"
        case .damaged(let path, let problem): "\(path) is not as it was written: \(problem)"
        case .otherLog(let path, let problem): "\(path) is not the log of the backup, or was cut: \(problem)"
        }
    }
}
