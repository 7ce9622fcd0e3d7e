public import HostSystem

/// Where the wallet's own files lie, by name; the only way in which this target writes anything.
///
/// Each write is atomic and durable when it returns. Tests stand in for it, count the writes, and cut the power before
/// or after each of them.
public protocol LocalDisk: Sendable {
    /// The file's contents; nil where there is none.
    func read(_ file: LocalFile) throws(FileError) -> [UInt8]?

    /// Replaces the file's contents, or makes it: all of it or nothing, whatever happens.
    func write(_ bytes: [UInt8], to file: LocalFile) throws(FileError)

    /// Removes the file; nothing happens where there is none.
    func remove(_ file: LocalFile) throws(FileError)
}

/// The files of a wallet's `app/` folder: all that "a copy of the device's storage" holds.
public enum LocalFile: String, Sendable, CaseIterable {
    /// Enrollment, registration, PIN slots and salts, a wipe not yet reported. Its writes are the marks by which every
    /// operation is done or not done.
    case state = "state.json"
    /// What only an unlocked wallet may read, under the data key.
    case accessData = "access.sealed"
    /// The server's last words, which prove nothing: kept apart so that no reply rewrites the others.
    case serverState = "server-words.json"
}

/// A folder of the file system: new file, fsync, rename, fsync of the folder.
public struct FolderDisk: LocalDisk {
    private let folder: String

    /// Longer files are not ours.
    private static let longest = 4 << 20

    /// Makes the folder, for its owner alone, where it is missing.
    public init(folder: String) throws(FileError) {
        try DurableFile.makeFolder(folder, mode: 0o700)
        self.folder = folder
    }

    public func read(_ file: LocalFile) throws(FileError) -> [UInt8]? {
        do throws(FileError) {
            return try DurableFile.read(self.path(file), atMost: Self.longest)
        } catch .notFound(_) {
            return nil
        } catch {
            throw error
        }
    }

    public func write(_ bytes: [UInt8], to file: LocalFile) throws(FileError) {
        try DurableFile.write(bytes, to: self.path(file), mode: 0o600)
    }

    public func remove(_ file: LocalFile) throws(FileError) {
        do throws(FileError) {
            try DurableFile.remove(self.path(file))
        } catch .notFound(_) {
            return
        } catch {
            throw error
        }
    }

    private func path(_ file: LocalFile) -> String { "\(self.folder)/\(file.rawValue)" }
}
