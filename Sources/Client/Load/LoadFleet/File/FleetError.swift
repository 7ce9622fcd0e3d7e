package import HostSystem

/// Why a fleet's file cannot be used; each sentence names the way out.
package enum FleetError: Error, Hashable, CustomStringConvertible {
    /// The file cannot be made, read or written.
    case file(FileError)
    /// Another process works with it: wait for it or end it.
    case inUse(path: String, pid: Int32?)
    /// Another kind of file: name another.
    case foreign(path: String)
    /// A file of another version of this program: register the wallets anew.
    case version(path: String, found: UInt32)
    /// Both copies of the header are damaged, and with them the seed: register the wallets anew.
    case damaged(path: String)
    /// The file ends before its last record: `provision` registers the missing ones anew.
    case cut(path: String, whole: Int, expected: Int)
    /// A record changed under this process, or its disk is failing: register the wallets anew.
    case recordDamaged(path: String, number: Int)
    /// The wallets belong to a server that another authority vouches for: name the right one of the two.
    case otherServer(path: String)
    /// No wallet in it is registered: `provision` goes on.
    case empty(path: String)
    /// An App Attest counter has come to its end, after four thousand million proofs: register the wallets anew.
    case countersSpent(path: String)

    package var description: String {
        switch self {
        case .file(let error): return error.description
        case .inUse(let path, let pid):
            let who = pid.map { "process \($0)" } ?? "another process"
            return
                "\(path): \(who) works with these wallets; a counter used by two would be refused. Wait for it or end it."
        case .foreign(let path): return "\(path): not a file of wallets. Name the one that `pin-load provision` wrote."
        case .version(let path, let found):
            return "\(path): written by another version of pin-load (format \(found), this one reads "
                + "\(FleetHeader.version)). Register anew: `pin-load provision`, with another --out."
        case .damaged(let path):
            return "\(path): both copies of its header are damaged, and the keys are lost with them. "
                + "Register anew: `pin-load provision`, with another --out."
        case .cut(let path, let whole, let expected):
            return "\(path): cut off after \(whole) of \(expected) wallets. "
                + "`pin-load provision --wallets \(expected) --out \(path)` registers the others anew."
        case .recordDamaged(let path, let number):
            return "\(path): the record of wallet \(number) is damaged. `pin-load provision` registers it anew."
        case .otherServer(let path):
            return "\(path): these wallets are registered with another server (its certificate authority is another). "
                + "Name that server, or register wallets with this one."
        case .empty(let path): return "\(path): holds no wallet yet. `pin-load provision` goes on where it was left."
        case .countersSpent(let path):
            return "\(path): an App Attest counter has come to its end. Register anew, with another --out."
        }
    }
}
