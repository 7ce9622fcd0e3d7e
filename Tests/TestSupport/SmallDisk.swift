import Foundation
import Glibc
import HostSystem

/// A small file system of its own at a folder, which can be filled to its last page; gone with the test.
///
/// Only who may mount can make one, which is root with the privileges of a machine or of a container that has them.
package final class SmallDisk: Sendable {
    /// Where it is mounted.
    package let path: String
    private let isOwnFolder: Bool
    private var ballast: String { "\(self.path)/ballast" }

    /// What is on it besides the ballast must fit: a store of some wallets with its log.
    private static let size = "2m"
    private static let page = 4096

    /// Whether small file systems can be made here.
    package static let isPermitted = (try? SmallDisk()) != nil

    /// Mounts over a new folder, which goes with it.
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

    /// Mounts over a folder; what lies in it is copied.
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

    /// The system did not mount.
    package struct NotMounted: Error {}

    /// The system did not give the room back.
    package struct NotCleared: Error {}

    deinit {
        unsafe umount2(self.path, Int32(MNT_DETACH))
        if self.isOwnFolder { try? FileManager.default.removeItem(atPath: self.path) }
    }

    /// Takes what room is left, page by page.
    package func fill() {
        while self.takePage() {}
    }

    /// Takes all but so many pages.
    package func fill(leaving pages: Int) throws {
        let attributes = try FileManager.default.attributesOfFileSystem(forPath: self.path)
        let free = try (attributes[.systemFreeSize] as? NSNumber).orThrow().intValue
        try Data(repeating: 0xBA, count: free - pages * Self.page).write(to: URL(fileURLWithPath: self.ballast))
    }

    /// Takes one page; false when there was none.
    @discardableResult
    package func takePage() -> Bool {
        (try? DurableFile.append(Array(repeating: 0xBA, count: Self.page), to: self.ballast)) != nil
    }

    /// Gives all the room back.
    package func clear() throws {
        // Emptied first: Foundation opens files for writing without O_CLOEXEC, so that a program which another test
        // started meanwhile may hold this one, and its pages, for as long as it lives.
        guard unsafe truncate(self.ballast, 0) == 0 else { throw NotCleared() }
        try DurableFile.remove(self.ballast)
    }
}
