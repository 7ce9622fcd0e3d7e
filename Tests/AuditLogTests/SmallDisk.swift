import Foundation
import Testing

/// A file system of two megabytes in memory; gone with the value.
final class SmallDisk: Sendable {
    let path: String
    private static let pageSize = 4096

    /// Whether this process may mount one.
    static let isPermitted = (try? SmallDisk()) != nil

    init() throws {
        self.path = FileManager.default.temporaryDirectory.appendingPathComponent("disk-\(UUID())").path
        try FileManager.default.createDirectory(atPath: self.path, withIntermediateDirectories: true)
        do {
            try Self.run("mount", "-t", "tmpfs", "-o", "size=2m,mode=700", "tmpfs", self.path)
        } catch {
            try FileManager.default.removeItem(atPath: self.path)
            throw error
        }
    }

    deinit {
        try? Self.run("umount", "--lazy", self.path)
        try? FileManager.default.removeItem(atPath: self.path)
    }

    /// Takes all but so many pages.
    func fill(leaving pages: Int = 0) throws {
        let attributes = try FileManager.default.attributesOfFileSystem(forPath: self.path)
        let free = try #require(attributes[.systemFreeSize] as? NSNumber).intValue
        let filler = Data(repeating: 1, count: free - pages * Self.pageSize)
        try filler.write(to: URL(fileURLWithPath: self.path + "/filler"))
    }

    func empty() throws {
        try FileManager.default.removeItem(atPath: self.path + "/filler")
    }

    private static func run(_ arguments: String...) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = arguments
        process.standardError = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw CocoaError(.fileWriteUnknown) }
    }
}
