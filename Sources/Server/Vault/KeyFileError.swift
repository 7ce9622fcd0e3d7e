package import HostSystem

/// Why a key file cannot be used; every case says what its operator has to do.
///
/// Holds no key.
package enum KeyFileError: Error, Hashable, Sendable, CustomStringConvertible {
    /// It cannot be read or written.
    case file(FileError)
    /// Others may read or write it: change its mode, and rotate if someone may have.
    case mode(String, UInt32)
    /// A line does not read as this program writes it: restore the file from a backup.
    case damaged(String, line: Int)
    /// Written by a newer version of this program: use that one.
    case newerFormat(String)
    /// It is another vault's, or older than the keys in use: put the right file back.
    case otherKeys(String)
    /// Another process has it locked and does not let go, or the lock cannot be made.
    case locked(String)

    package var description: String {
        switch self {
        case .file(let error): "vault key file: \(error)"
        case .mode(let path, let mode):
            "vault key file: \(path) has mode 0\(String(mode, radix: 8)); it must be 0600 (chmod 600 \(path))"
        case .damaged(let path, let line):
            "vault key file: \(path), line \(line): not as this program writes it; restore it from a backup"
        case .newerFormat(let path): "vault key file: \(path) was written by a newer version of this program"
        case .otherKeys(let path):
            "vault key file: \(path) is another vault's or from before a rotation; put the newest one back"
        case .locked(let path): "vault key file: \(path) cannot be locked"
        }
    }
}
