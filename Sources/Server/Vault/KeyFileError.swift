package import HostSystem

/// The reason a key file cannot be used, and what the operator should do about it.
///
/// It never contains a key.
package enum KeyFileError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The file cannot be read or written.
    case file(FileError)
    /// Other users can read or write it.
    ///
    /// Change its mode, and rotate the keys if another user may have done so.
    case mode(String, UInt32)
    /// A line does not have the expected format.
    ///
    /// Restore the file from a backup.
    case damaged(String, line: Int)
    /// A line does not have the expected format, because a program that handles text converted the file.
    ///
    /// Undo the conversion, or restore the file from a backup.
    case converted(String, line: Int, TextConversion)
    /// The file was written by a newer version of this program.
    ///
    /// Use that version.
    case newerFormat(String)
    /// The file belongs to another vault or is older than the keys in use.
    ///
    /// Put the right file back.
    case otherKeys(String)
    /// The file that counts the sealed values cannot be used, so the vault seals nothing.
    ///
    /// The key is not the cause: correct that file.
    case count(String)

    package var description: String {
        switch self {
        case .file(let error): "vault key file: \(error)"
        case .mode(let path, let mode):
            "vault key file: \(path) has mode 0\(String(mode, radix: 8)); it must be 0600 (chmod 600 \(path))"
        case .damaged(let path, let line):
            "vault key file: \(path), line \(line): invalid form; restore the file from a backup"
        case .converted(let path, let line, let conversion):
            "vault key file: \(path), line \(line) \(conversion); or restore the file from a backup"
        case .newerFormat(let path): "vault key file: \(path) was written by a newer version; use that one"
        case .otherKeys(let path):
            "vault key file: \(path) belongs to another vault or predates a rotation; put the newest key file back"
        case .count(let reason): "the count of the values that the vault's key has sealed cannot be used: \(reason)"
        }
    }
}
