package import AuditLog
package import HostSystem
package import Vocabulary
package import WalletStore

/// Why a backup was not restored; the data folder holds no store then, unless ``placed(_:)`` says otherwise.
package enum RestoreFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// The file is no backup, or not a whole one: take another.
    case notABackup(String)
    /// Not made with this vault's key, or changed since: take another, or the key file that belongs to it.
    case foreign(String)
    /// Not the bytes that the backup's label names: a damaged disk, or somebody changed them. Take another.
    case damaged(String)
    /// The database in it is damaged, or defines what this server does not: take another.
    case unsound(String, [String])
    /// A sealed value does not open with this vault's key: find the key file with the versions of the backup's time.
    case sealed(wallet: String)
    /// Values of these wallets do not open although their key is the right one: end the wallets with
    /// ``Restoration/Parts/endsDamaged``, or take an older backup.
    case damagedWallets([WalletID])
    /// A record of an epoch, or of a wallet's, that no restore made.
    case epochs(String)
    /// There is a store in the data folder, or something else is in the way.
    case store(StoreOpenError)
    /// The store failed on the way; again, from the beginning.
    case step(StoreError)
    /// The audit log does not take the restore: nothing is restored.
    case audit(AuditLogError)
    /// The backup or the data folder cannot be read or written.
    case file(FileError)
    /// The vault did not answer.
    case vault
    /// The store is in its place and the audit log did not take that it is done.
    case placed(AuditLogError)

    package var description: String {
        switch self {
        case .notABackup(let path): "\(path) is no backup, or not a whole one"
        case .foreign(let path): "\(path) was not made with this vault's key, or was changed since"
        case .damaged(let path): "\(path) does not hold the bytes that its label names: it is damaged, or was changed"
        case .unsound(let path, let reasons): "the database in \(path) is not sound: " + reasons.joined(separator: "; ")
        case .sealed(let wallet):
            "what is sealed for wallet \(wallet) does not open with this vault's key; the backup needs the key file of "
                + "its time, with all its versions"
        case .damagedWallets(let wallets):
            "something that is sealed for \(wallets.named(atMost: 8)) does not open with the key that sealed it: it was "
                + "damaged before the backup was made. With --end-damaged these wallets are ended, on record, and the others "
                + "restored; an older backup may have them whole"
        case .epochs(let path): "the epochs in \(path) are not as restores record them"
        case .store(let error): error.description
        case .step(.unavailable), .step(.notErased):
            "the restored store does not take what has to be changed; is the disk full?"
        case .step(.corrupt): "the restored store holds what no server wrote"
        case .audit(let error): "the audit log does not take the restore: \(error)"
        case .file(let error): error.description
        case .vault: "the vault did not answer"
        case .placed(let error): "the store is restored, and the audit log did not take that it is: \(error)"
        }
    }
}

/// Why an audit log does not say all that happened since a backup.
package enum LogProblem: Hashable, Sendable, CustomStringConvertible {
    /// There is none.
    case missing(String)
    /// It is not as it was written; intact up to some entry.
    case damaged(String, AuditProblem)
    /// It does not have the entry that was its newest when the backup was taken: it was cut, or is another log.
    case otherLog(String, AuditProblem)

    package var description: String {
        switch self {
        case .missing(let path): "there is no audit log at \(path)"
        case .damaged(let path, let problem): "\(path) is not as it was written: \(problem)"
        case .otherLog(let path, let problem): "\(path) is not the log of the backup, or was cut: \(problem)"
        }
    }
}
