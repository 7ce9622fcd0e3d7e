import Foundation
import Glibc
import HostSystem
import LabFiles
import TestSupport
import Testing

@Suite("The script that copies backup and audit log to another machine")
struct CopyScriptTests {
    private let lab: LabUnderTest

    init() async throws {
        self.lab = try await LabUnderTest()
        try DurableFile.makeFolder(self.target)
    }

    private var log: String { "\(self.lab.lab.serverFolder)/audit.log" }
    private var target: String { "\(self.lab.folder)/target" }
    private var copy: String { "\(self.target)/audit.log" }

    private func bytes(_ path: String) throws -> [UInt8] { try DurableFile.read(path, atMost: 1 << 24) }

    /// The copy's inode, which another file would not have.
    private func inode() throws -> UInt64? {
        try FileManager.default.attributesOfItem(atPath: self.copy)[.systemFileNumber] as? UInt64
    }

    /// Runs the script, which can write no file beyond the limit.
    ///
    /// - Parameter limit: Blocks of 512 bytes, or `unlimited`.
    private func run(limit: String = "unlimited") async throws -> ProgramRun {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().path
        let programs = URL(fileURLWithPath: Programs.path("remote-pin-server")).deletingLastPathComponent().path
        return try await ServerProcess.run(
            "/usr/bin/env",
            [
                "PATH=\(programs):/usr/bin:/bin", "sh", "-c", "ulimit -f \(limit); exec \"$@\"", "sh",
                "\(root)/deploy/maintenance/copy-backup", self.target, self.lab.lab.configurationFile,
                self.lab.folder, self.log,
            ]
        )
    }

    private func admin(_ arguments: String...) async throws {
        let run = try await ServerProcess.run("remote-pin-server", arguments + ["--lab", self.lab.lab.path])
        try #require(run.exitCode == 0, "\(run.output)")
    }

    @Test("the copy of the log only grows, by verified entries; a damaged log leaves it as it is")
    func copies() async throws {
        let server = try await self.lab.start()
        try await self.admin("backup", "\(self.lab.folder)/one.backup")
        let first = try await self.run()
        #expect(first.exitCode == 0, "\(first.output)")
        #expect(try self.bytes("\(self.target)/one.backup") == self.bytes("\(self.lab.folder)/one.backup"))
        #expect(try self.bytes(self.copy) == self.bytes(self.log))
        #expect(try DurableFile.mode(of: self.copy) == 0o600)
        let inode = try self.inode()

        try await self.admin("admin", "status")
        #expect(try await self.run().exitCode == 0)
        #expect(try self.bytes(self.copy) == self.bytes(self.log))
        #expect(try self.inode() == inode, "the file was extended, not replaced")
        #expect(await server.terminate() == 0)
        #expect(try await self.run().exitCode == 0)
        let good = try self.bytes(self.log)
        #expect(try self.bytes(self.copy) == good)

        let lines = good.split(separator: 0x0A).map { Array($0) + [0x0A] }
        let changed = Array(String(decoding: good, as: UTF8.self).replacing("started", with: "stopped").utf8)
        for (damaged, reason) in [
            (Array(good.prefix(900)), "shorter than its copy"), (Array(lines.dropLast().joined()), "shorter"),
            (Array(lines.prefix(1).joined()), "shorter"), ([], "the verification failed"),
            (changed, "the verification failed"), (Array(lines.dropFirst().joined()), "the verification failed"),
        ] {
            try DurableFile.write(damaged, to: self.log)
            let run = try await self.run()
            #expect(run.exitCode == 65 && run.output.contains(reason), "\(run.output)")
            #expect(try self.bytes(self.copy) == good)
        }
        // An entry that the server is writing, or that a crash cut off, is copied once it is complete.
        try DurableFile.write(good + Array("{\"number\":".utf8), to: self.log)
        #expect(try await self.run().exitCode == 0)
        #expect(try self.bytes(self.copy) == good)
        // A copy that ended within a line, because the disk there was full.
        try DurableFile.write(Array(good.dropLast(100)), to: self.copy)
        #expect(try await self.run().exitCode == 0)
        #expect(try self.bytes(self.copy) == good)
        #expect(try DurableFile.names(in: self.target).sorted() == ["audit.log", "one.backup"])
    }

    @Test("a genuine log of the same vault that does not begin with the copy is refused")
    func otherLog() async throws {
        var server = try await self.lab.start()
        try await self.admin("backup", "\(self.lab.folder)/one.backup")
        #expect(await server.terminate() == 0)
        #expect(try await self.run().exitCode == 0)
        let good = try self.bytes(self.copy)
        // The restore begins a new log.
        try FileManager.default.moveItem(atPath: self.log, toPath: self.log + ".before-test")
        try FileManager.default.moveItem(atPath: self.lab.lab.dataFolder, toPath: "\(self.lab.folder)/away")
        try await self.admin("restore", "\(self.lab.folder)/one.backup", "--yes")
        server = try await self.lab.start()
        for _ in 0..<10 { try await self.admin("admin", "status") }
        #expect(await server.terminate() == 0)
        try #require(try self.bytes(self.log).count > good.count)
        let run = try await self.run()
        #expect(run.exitCode == 65 && run.output.contains("does not begin with its copy"), "\(run.output)")
        #expect(run.output.contains(".before-NAME"), "\(run.output)")
        #expect(try self.bytes(self.copy) == good)
    }

    @Test("two copies at once wait for each other, and neither doubles an entry")
    func twoAtOnce() async throws {
        let server = try await self.lab.start()
        try await self.admin("backup", "\(self.lab.folder)/one.backup")
        async let first = self.run()
        async let second = self.run()
        let codes = try await [first.exitCode, second.exitCode]
        #expect(codes == [0, 0])
        #expect(try self.bytes(self.copy) == self.bytes(self.log))
        #expect(await server.terminate() == 0)
        #expect(try await self.run().exitCode == 0, "the copy is still the beginning of the log")
    }

    @Test("a backup with a time in the future does not hide the newest one")
    func future() async throws {
        let server = try await self.lab.start()
        for name in ["one", "future"] { try await self.admin("backup", "\(self.lab.folder)/\(name).backup") }
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSinceNow: 86_400)],
            ofItemAtPath: "\(self.lab.folder)/future.backup"
        )
        let run = try await self.run()
        #expect(run.exitCode == 0, "\(run.output)")
        #expect(try DurableFile.names(in: self.target).sorted() == ["audit.log", "one.backup"])
        #expect(await server.terminate() == 0)
    }

    @Test("without a backup the log is copied and the status is 66; a pipe is not waited for, and no link is followed")
    func otherFiles() async throws {
        let server = try await self.lab.start()
        for name in ["pipe.backup", "link.backup"] {
            let path = "\(self.lab.folder)/\(name)"
            if name.hasPrefix("pipe") {
                try #require(unsafe mkfifo(path, 0o600) == 0)
            } else {
                try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: "/nowhere")
            }
        }
        let none = try await self.run()
        #expect(none.exitCode == 66 && none.output.contains("has no backup"), "\(none.output)")
        #expect(try self.bytes(self.copy) == self.bytes(self.log))
        #expect(await server.terminate() == 0)
        let good = try self.bytes(self.copy)
        try FileManager.default.removeItem(atPath: self.log)
        try #require(unsafe mkfifo(self.log, 0o600) == 0)
        let pipe = try await self.run()
        #expect(pipe.exitCode == 65 && pipe.output.contains("not a regular file"), "\(pipe.output)")
        #expect(try self.bytes(self.copy) == good)
        // The user of the server can point the name at a file that only root can read.
        try FileManager.default.removeItem(atPath: self.log)
        try FileManager.default.createSymbolicLink(atPath: self.log, withDestinationPath: self.copy)
        let link = try await self.run()
        #expect(link.exitCode == 65 && link.output.contains("not a regular file"), "\(link.output)")
    }

    @Test("a folder that is missing, because its volume is not mounted, is not made on this machine")
    func unmounted() async throws {
        let server = try await self.lab.start()
        try await self.admin("backup", "\(self.lab.folder)/one.backup")
        try FileManager.default.removeItem(atPath: self.target)
        let run = try await self.run()
        #expect(run.exitCode == 73 && run.output.contains("is its volume mounted?"), "\(run.output)")
        #expect(!DurableFile.exists(self.target))
        #expect(await server.terminate() == 0)
    }

    @Test("a backup that does not fit does not keep the log from being copied")
    func full() async throws {
        let server = try await self.lab.start()
        try await self.admin("backup", "\(self.lab.folder)/one.backup")
        let run = try await self.run(limit: "64")
        #expect(run.exitCode == 74 && run.output.contains("one.backup could not be copied"), "\(run.output)")
        #expect(try self.bytes(self.copy) == self.bytes(self.log))
        #expect(try DurableFile.names(in: self.target) == ["audit.log"])
        #expect(try await self.run().exitCode == 0)
        #expect(try DurableFile.names(in: self.target).sorted() == ["audit.log", "one.backup"])
        #expect(await server.terminate() == 0)
    }
}
