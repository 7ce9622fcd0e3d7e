internal import HostSystem

/// The storage for a wallet's files, and the only interface that this target writes through.
///
/// Every write is atomic, and durable by the time it returns. Tests use their own implementation to count writes and to
/// terminate the process before or after one.
public protocol LocalDisk: Sendable {
    /// Returns the contents of the file, or nil if it does not exist.
    func read(_ file: LocalFile) throws(LocalDiskError) -> [UInt8]?

    /// Creates the file or atomically replaces its contents.
    func write(_ bytes: [UInt8], to file: LocalFile) throws(LocalDiskError)

    /// Removes the file, if it exists.
    func remove(_ file: LocalFile) throws(LocalDiskError)
}

/// An error from a ``LocalDisk``.
///
/// The file has not changed.
public struct LocalDiskError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The operation, the file and the cause.
    ///
    /// Never includes the file contents.
    public let description: String

    /// Creates an error from a description of its cause.
    public init(_ description: String) { self.description = description }

    init(_ error: FileError) { self.init(error.description) }
}

/// A wallet's files, which make up the entire `app/` folder.
///
/// A copy of the device's storage contains all of them.
public enum LocalFile: String, Sendable, CaseIterable {
    /// The enrollment, the registration, the PIN slots and salts, and a wipe that has not been reported yet.
    ///
    /// Writing this file is the commit point. Until it is written, an operation has not happened.
    case state = "state.json"
    /// Data that can only be read while the wallet is unlocked, because it is sealed under the data key.
    case accessData = "access.sealed"
    /// The latest information from the server, which does not prove anything.
    ///
    /// It is in a separate file so that a reply never causes the other files to be rewritten.
    case serverState = "server-words.json"
    /// The pinned receipt key, the last receipt and the attempts sent since then.
    ///
    /// No other file depends on it.
    case receipts = "receipts.json"
}

/// A folder in the file system.
///
/// Files are written by creating a new one, calling fsync, renaming it, and calling fsync on the folder.
public struct FolderDisk: LocalDisk {
    private let folder: String

    /// The maximum size of a file in bytes.
    ///
    /// The wallet's files are nowhere near as large.
    private static let maximumByteCount = 4 << 20

    /// Opens the folder, or creates it so that only its owner has access.
    public init(folder: String) throws(LocalDiskError) {
        self.folder = folder
        try mapError(DurableFile.makeFolder(folder, mode: 0o700), to: LocalDiskError.init)
    }

    /// Returns the contents of the file, or nil if it does not exist.
    public func read(_ file: LocalFile) throws(LocalDiskError) -> [UInt8]? {
        try mapError(
            ifPresent(DurableFile.readOwn(self.path(file), atMost: Self.maximumByteCount)),
            to: LocalDiskError.init
        )
    }

    /// Creates the file or replaces its contents.
    ///
    /// The change is durable when this method returns.
    public func write(_ bytes: [UInt8], to file: LocalFile) throws(LocalDiskError) {
        try mapError(DurableFile.write(bytes, to: self.path(file), mode: 0o600), to: LocalDiskError.init)
    }

    /// Removes the file, if it exists.
    ///
    /// The change is durable when this method returns.
    public func remove(_ file: LocalFile) throws(LocalDiskError) {
        try mapError(ifPresent(DurableFile.remove(self.path(file))), to: LocalDiskError.init)
    }

    private func path(_ file: LocalFile) -> String { "\(self.folder)/\(file.rawValue)" }
}
