package import HostSystem

/// A reason why a fleet file cannot be used.
///
/// Each description says how to fix it.
package enum FleetError: Error, Hashable, CustomStringConvertible {
    /// The file cannot be created, read or written.
    case file(FileError)
    /// Another process is using it.
    ///
    /// Wait for that process or end it.
    case inUse(path: String, pid: Int32?)
    /// This is a different kind of file.
    ///
    /// Specify another one.
    case foreign(path: String)
    /// The file was written by another version of this program.
    ///
    /// Register new wallets.
    case version(path: String, found: UInt32)
    /// Both copies of the header are damaged, including the seed.
    ///
    /// Register new wallets.
    case damaged(path: String)
    /// The file ends before its last record.
    ///
    /// `provision` registers the missing wallets again.
    case cut(path: String, whole: Int, expected: Int)
    /// A record was changed by something else, or the disk is failing.
    ///
    /// Register the wallet again.
    case recordDamaged(path: String, number: Int)
    /// The wallets belong to a server with a different certificate authority.
    ///
    /// Specify the right server or file.
    case otherServer(path: String)
    /// The file contains no registered wallets.
    ///
    /// `provision` continues registering them.
    case empty(path: String)
    /// An App Attest counter has reached its maximum of 2³² − 1 proofs.
    ///
    /// Register new wallets.
    case countersSpent(path: String)

    package var description: String {
        switch self {
        case .file(let error): return error.description
        case .inUse(let path, let pid):
            let who = pid.map { "process \($0)" } ?? "another process"
            return
                "\(path): \(who) is using these wallets; the server would reject a counter used by two processes. "
                + "Wait for it or end it."
        case .foreign(let path): return "\(path): not a file of wallets. Name one that `pin-load provision` wrote."
        case .version(let path, let found):
            return "\(path): written by another version of pin-load (format \(found), this version reads "
                + "\(FleetHeader.version)). Register new wallets: `pin-load provision` with another --out."
        case .damaged(let path):
            return "\(path): both copies of its header are damaged, and the keys are lost with them. "
                + "Register new wallets: `pin-load provision` with another --out."
        case .cut(let path, let whole, let expected):
            return "\(path): truncated after \(whole) of \(expected) wallets. "
                + "`pin-load provision --wallets \(expected) --out \(path)` registers the others again."
        case .recordDamaged(let path, let number):
            return "\(path): record \(number) is damaged. `pin-load provision` registers its wallet again."
        case .otherServer(let path):
            return "\(path): these wallets are registered with another server (it has another certificate authority). "
                + "Name that server, or register wallets with this one."
        case .empty(let path): return "\(path): contains no wallets. `pin-load provision` continues the registration."
        case .countersSpent(let path):
            return "\(path): an App Attest counter has reached its maximum. Register new wallets with another --out."
        }
    }
}
