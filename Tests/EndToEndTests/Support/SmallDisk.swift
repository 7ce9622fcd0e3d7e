import Foundation
import HostSystem
import TestSupport

/// A small file system of its own at a folder, which can be filled to its last page; gone with the test.
///
/// Only who may mount can make one, which is root with the privileges of a machine or of a container that has them.
final class SmallDisk: Sendable {
    private let folder: String
    private var ballast: String { "\(self.folder)/ballast" }

    /// What is on it besides the ballast must fit: a store of some wallets with its log.
    private static let size = "2m"
    private static let page = 4096

    /// Whether small file systems can be made here.
    static let isPermitted: Bool = {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("remote-pin-\(UUID())").path
        try? DurableFile.makeFolder(folder)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        guard SmallDisk.command("mount", "-t", "tmpfs", "-o", "size=\(SmallDisk.size)", "tmpfs", folder) else {
            return false
        }
        return SmallDisk.command("umount", "--lazy", folder)
    }()

    /// Mounts over a folder; what lies in it is copied.
    init(at folder: String) throws {
        self.folder = folder
        let files = try DurableFile.names(in: folder).map { name in
            (name, try DurableFile.read("\(folder)/\(name)", atMost: 1 << 24))
        }
        guard Self.command("mount", "-t", "tmpfs", "-o", "size=\(Self.size),mode=700", "tmpfs", folder) else {
            throw NotMounted()
        }
        for (name, bytes) in files { try DurableFile.write(bytes, to: "\(folder)/\(name)") }
    }

    /// The system did not mount.
    struct NotMounted: Error {}

    deinit {
        _ = Self.command("umount", "--lazy", self.folder)
    }

    /// Takes what room is left, page by page.
    func fill() {
        while self.takePage() {}
    }

    /// Takes one page; false when there was none.
    @discardableResult
    func takePage() -> Bool {
        (try? DurableFile.append(Array(repeating: 0xBA, count: Self.page), to: self.ballast)) != nil
    }

    /// Gives all the room back.
    func clear() throws {
        try DurableFile.remove(self.ballast)
    }

    private static func command(_ name: String, _ arguments: String...) -> Bool {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = [name] + arguments
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        guard (try? process.run()) != nil else { return false }
        process.waitUntilExit()
        return process.terminationStatus == 0
    }
}
