internal import HostSystem

/// The storage for a wallet's files, and the only interface this target uses for writing.
///
/// Each write is atomic and durable when it returns. Tests substitute it to count writes and to end the process before
/// or after each of them.
public protocol LocalDisk: Sendable {
    /// Returns the contents of the file, or nil if it does not exist.
    func read(_ file: LocalFile) throws(LocalDiskError) -> [UInt8]?

    /// Creates the file or replaces its contents atomically.
    func write(_ bytes: [UInt8], to file: LocalFile) throws(LocalDiskError)

    /// Removes the file, or does nothing if it does not exist.
    func remove(_ file: LocalFile) throws(LocalDiskError)
}

/// An error from a ``LocalDisk``; the file was not changed.
public struct LocalDiskError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The failed operation, the file and the cause, without file contents.
    public let description: String

    /// Creates an error from the text of its cause.
    public init(_ description: String) {
        self.description = description
    }
}

/// The files of a wallet: the complete contents of its `app/` folder, and of a copy of the device's
/// storage.
public enum LocalFile: String, Sendable, CaseIterable {
    /// Enrollment, registration, PIN slots and salts, and a wipe not yet reported.
    ///
    /// Writing this file is the commit point: until it is written, an operation has not happened.
    case state = "state.json"
    /// Data that may only be read while the wallet is unlocked, sealed under the data key.
    case accessData = "access.sealed"
    /// The latest state received from the server, which does not prove anything; it has a separate file so that a reply
    /// never causes the others to be rewritten.
    case serverState = "server-words.json"
    /// The pinned receipt key, the last receipt and the attempts sent since; no other file depends on it.
    case receipts = "receipts.json"
}

/// A folder of the file system, written by: new file, fsync, rename, fsync of the folder.
public struct FolderDisk: LocalDisk {
    private let folder: String

    /// The maximum size of a file in bytes; the wallet never writes anything close to it.
    private static let maximumByteCount = 4 << 20

    /// Opens the folder, or creates it with access for its owner only.
    public init(folder: String) throws(LocalDiskError) {
        self.folder = folder
        do {
            try DurableFile.makeFolder(folder, mode: 0o700)
        } catch {
            throw LocalDiskError("\(error)")
        }
    }

    /// Returns the contents of the file, or nil if it does not exist.
    public func read(_ file: LocalFile) throws(LocalDiskError) -> [UInt8]? {
        do {
            return try DurableFile.read(self.path(file), atMost: Self.maximumByteCount)
        } catch FileError.notFound {
            return nil
        } catch {
            throw LocalDiskError("\(error)")
        }
    }

    /// Creates the file or replaces its contents; durable when this returns.
    public func write(_ bytes: [UInt8], to file: LocalFile) throws(LocalDiskError) {
        do {
            try DurableFile.write(bytes, to: self.path(file), mode: 0o600)
        } catch {
            throw LocalDiskError("\(error)")
        }
    }

    /// Removes the file, or does nothing if it does not exist; durable when this returns.
    public func remove(_ file: LocalFile) throws(LocalDiskError) {
        do {
            try DurableFile.remove(self.path(file))
        } catch FileError.notFound {
            return
        } catch {
            throw LocalDiskError("\(error)")
        }
    }

    private func path(_ file: LocalFile) -> String { "\(self.folder)/\(file.rawValue)" }
}
