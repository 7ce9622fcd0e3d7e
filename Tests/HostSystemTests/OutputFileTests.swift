import Foundation
import Glibc
import TestSupport
import Testing

@testable import HostSystem

@Suite("Output files that a user names")
struct OutputFileTests {
    private let folder = TemporaryFolder()
    private let report = Array("report\n".utf8)

    private func kind(_ path: String) throws -> FileAttributeType? {
        try FileManager.default.attributesOfItem(atPath: path)[.type] as? FileAttributeType
    }

    @Test("a regular file and a new one are replaced as a whole")
    func regular() throws {
        let path = self.folder.file("report")
        try OutputFile.write(self.report, to: path)
        let first = try FileManager.default.attributesOfItem(atPath: path)[.systemFileNumber] as? Int
        try OutputFile.write([1], to: path)
        #expect(try DurableFile.read(path, atMost: 100) == [1])
        #expect(try DurableFile.mode(of: path) == 0o644)
        #expect(try FileManager.default.attributesOfItem(atPath: path)[.systemFileNumber] as? Int != first)
        #expect(try DurableFile.names(in: self.folder.path) == ["report"])
    }

    @Test("a symbolic link stays, and its target gets the bytes, also if it does not exist", arguments: [true, false])
    func link(exists: Bool) throws {
        let (link, target) = (self.folder.file("link"), self.folder.file("target"))
        if exists { try DurableFile.write(Array("a longer text than the report".utf8), to: target) }
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "target")
        try OutputFile.write(self.report, to: link)
        #expect(try self.kind(link) == .typeSymbolicLink)
        #expect(try DurableFile.read(target, atMost: 100) == self.report)
    }

    @Test("a pipe stays, and its reader gets the bytes")
    func pipe() throws {
        let path = self.folder.file("pipe")
        try #require(unsafe mkfifo(path, 0o600) == 0)
        // Open for both, so that neither end waits for the other.
        let reader = try #require(FileHandle(forUpdatingAtPath: path))
        try OutputFile.write(self.report, to: path)
        #expect(try reader.read(upToCount: self.report.count) == Data(self.report))
        #expect(try self.kind(path) != .typeRegular)
        #expect(try DurableFile.names(in: self.folder.path) == ["pipe"])
    }

    @Test("a device gets the bytes and reports its error (through a link, so that a defect harms no device)")
    func device() throws {
        for device in ["null", "full"] {
            let link = self.folder.file(device)
            try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "/dev/\(device)")
        }
        try OutputFile.write(self.report, to: self.folder.file("null"))
        let full = self.folder.file("full")
        #expect(throws: FileError.diskFull(full, errno: ENOSPC)) { try OutputFile.write(self.report, to: full) }
        for device in ["null", "full"] { #expect(try self.kind(self.folder.file(device)) == .typeSymbolicLink) }
    }

    @Test("a file is opened for appending through a link")
    func appending() throws {
        let (link, target) = (self.folder.file("link"), self.folder.file("target"))
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "target")
        for _ in 0..<2 {
            let file = FileHandle(fileDescriptor: try OutputFile.openForAppending(link, mode: 0o640))
            try file.write(contentsOf: self.report)
            try file.close()
        }
        #expect(try self.kind(link) == .typeSymbolicLink)
        #expect(try DurableFile.read(target, atMost: 100) == self.report + self.report)
    }

    @Test("a pipe without a reader fails after the limit, and one with a reader is written")
    func pipeWithoutReader() async throws {
        let path = self.folder.file("pipe")
        try #require(unsafe mkfifo(path, 0o600) == 0)
        #expect(throws: FileError.other(path, errno: ETIMEDOUT)) {
            try OutputFile.write([1], toPipe: path, ReaderLimit(time: .milliseconds(100), end: -1))
        }
        let bytes = [UInt8](repeating: 7, count: 200_000)
        // A thread of its own: the write holds one of the few threads for tasks until all bytes are read.
        let (received, reader) = AsyncStream.makeStream(of: [UInt8]?.self)
        Thread.detachNewThread { reader.yield(try? InputFile.read(path, atMost: 1 << 20)) }
        try OutputFile.write(bytes, toPipe: path, ReaderLimit(time: .seconds(60), end: -1))
        #expect(await received.first { _ in true } == bytes)
    }
}
