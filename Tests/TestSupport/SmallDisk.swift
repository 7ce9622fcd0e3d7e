import Foundation
import Glibc
import HostSystem

/// A separate small file system at a folder, which a test can fill to its last page.
///
/// It exists as long as the value. Mounting needs root with the privileges of a machine or of a privileged
/// container.
package final class SmallDisk: Sendable {
    /// The mount point.
    package let path: String
    private let isOwnFolder: Bool
    private var ballast: String { "\(self.path)/ballast" }

    /// The size must hold more than the ballast: a store of a hundred wallets and a log in which each wallet has a
    /// separate commit.
    private static let size = "8m"
    private static let page = 4096

    /// True if small file systems can be created here.
    package static let isPermitted = (try? SmallDisk()) != nil

    /// Mounts over a new folder, which is removed with the value.
    public convenience init() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("remote-pin-\(UUID())").path
        try DurableFile.makeFolder(folder)
        do {
            try self.init(at: folder, isOwnFolder: true)
        } catch {
            try? FileManager.default.removeItem(atPath: folder)
            throw error
        }
    }

    /// Mounts over an existing folder and copies its contents.
    public convenience init(at folder: String) throws {
        try self.init(at: folder, isOwnFolder: false)
    }

    private init(at folder: String, isOwnFolder: Bool) throws {
        self.path = folder
        self.isOwnFolder = isOwnFolder
        let files = try DurableFile.names(in: folder).map { name in
            (name, try DurableFile.read("\(folder)/\(name)", atMost: 1 << 24))
        }
        guard unsafe mount("tmpfs", folder, "tmpfs", 0, "size=\(Self.size),mode=700") == 0 else { throw NotMounted() }
        for (name, bytes) in files { try DurableFile.write(bytes, to: "\(folder)/\(name)") }
    }

    /// The system refused to mount.
    package struct NotMounted: Error {}

    /// The system did not release the space.
    package struct NotCleared: Error {}

    deinit {
        unsafe umount2(self.path, Int32(MNT_DETACH))
        if self.isOwnFolder { try? FileManager.default.removeItem(atPath: self.path) }
    }

    /// Fills the remaining space, page by page.
    package func fill() {
        while self.takePage() {}
    }

    /// Fills all but this many pages.
    package func fill(leaving pages: Int) throws {
        let attributes = try FileManager.default.attributesOfFileSystem(forPath: self.path)
        let free = try (attributes[.systemFreeSize] as? NSNumber).orThrow().intValue
        try Data(repeating: 0xBA, count: free - pages * Self.page).write(to: URL(fileURLWithPath: self.ballast))
    }

    /// Fills one page; returns false if none was free.
    @discardableResult
    package func takePage() -> Bool {
        (try? DurableFile.append(Array(repeating: 0xBA, count: Self.page), to: self.ballast)) != nil
    }

    /// Frees all filled space.
    package func clear() throws {
        // Truncated first: Foundation opens files for writing without O_CLOEXEC, so a program that another test
        // started meanwhile may keep this file and its pages for its whole life.
        guard unsafe truncate(self.ballast, 0) == 0 else { throw NotCleared() }
        try DurableFile.remove(self.ballast)
    }
}
