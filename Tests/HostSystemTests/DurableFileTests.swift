import Foundation
import TestSupport
import Testing

@testable import HostSystem

@Suite("Durable files")
struct DurableFileTests {
    let folder: TemporaryFolder
    let path: String

    init() throws {
        self.folder = TemporaryFolder()
        self.path = self.folder.file("state")
    }

    @Test(
        "written bytes are read back, with the mode and without other files in the folder",
        arguments: [0, 1, 65_536, 200_000]
    )
    func roundTrip(count: Int) throws {
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0) }
        try DurableFile.write([1, 2, 3], to: self.path, mode: 0o644)
        try DurableFile.write(bytes, to: self.path)
        #expect(try DurableFile.read(self.path, atMost: 200_000) == bytes)
        #expect(try DurableFile.mode(of: self.path) == 0o600)
        #expect(try DurableFile.names(in: self.folder.path) == ["state"])
    }

    @Test("a folder with names of every length, and more of them than one read returns, is listed in full")
    func names() throws {
        let names = (1...2000).map { String(repeating: "n", count: 1 + $0 % 200) + "-\($0)" }
        for name in names { _ = try self.folder.write("", to: name) }
        #expect(try DurableFile.names(in: self.folder.path) == names.sorted())
    }

    @Test("a write that fails leaves the old contents")
    func failedWrite() throws {
        try DurableFile.write([1], to: self.path)
        try FileManager.default.createDirectory(atPath: self.path + ".new", withIntermediateDirectories: false)
        #expect(throws: FileError.self) { try DurableFile.write([2], to: self.path) }
        #expect(try DurableFile.read(self.path, atMost: 1) == [1])
    }

    @Test("a symbolic link at the place of the new file redirects no write")
    func waitingLink() throws {
        let victim = self.folder.file("victim")
        try DurableFile.write([7], to: victim)
        try FileManager.default.createSymbolicLink(atPath: self.path + ".new", withDestinationPath: victim)
        #expect(throws: FileError.self) { try DurableFile.write([2], to: self.path) }
        #expect(try DurableFile.read(victim, atMost: 1) == [7])
        try DurableFile.write([2], to: self.path)
        #expect(try DurableFile.read(self.path, atMost: 1) == [2])
    }

    @Test("an existing file is not created again")
    func creating() throws {
        try DurableFile.create([1], at: self.path)
        #expect(throws: FileError.exists(self.path)) { try DurableFile.create([2], at: self.path) }
        #expect(try DurableFile.read(self.path, atMost: 1) == [1])
        #expect(try DurableFile.names(in: self.folder.path) == ["state"])
    }

    @Test("of many concurrent creators one succeeds, and its contents are complete")
    func racingMakers() throws {
        let path = self.path
        let winners = Winners()
        DispatchQueue.concurrentPerform(iterations: 32) { number in
            let contents = [UInt8](repeating: UInt8(number), count: 5000)
            if (try? DurableFile.create(contents, at: path)) != nil { winners.add(number) }
        }
        #expect(winners.all.count == 1)
        let winner = try #require(winners.all.first)
        #expect(try DurableFile.read(path, atMost: 5000) == [UInt8](repeating: UInt8(winner), count: 5000))
    }

    @Test("a file over the limit, a missing one and a full device give different errors")
    func errors() throws {
        try DurableFile.write([1, 2], to: self.path)
        #expect(throws: FileError.tooLarge(self.path, limit: 1)) { try DurableFile.read(self.path, atMost: 1) }
        let missing = self.folder.file("missing")
        #expect(throws: FileError.notFound(missing)) { try DurableFile.read(missing, atMost: 1) }
        #expect(throws: FileError.notFound(missing)) { try DurableFile.remove(missing) }
        #expect(throws: FileError.diskFull("/dev/full", errno: ENOSPC)) { try DurableFile.append([1], to: "/dev/full") }
        #expect(SystemCall.error(EACCES, "f") == .notAllowed("f", errno: EACCES))
        #expect("\(FileError.other("f", errno: EIO))" == "f: input/output error (EIO)")
    }

    @Test("a removed file is gone; appended bytes follow the existing ones")
    func removingAndAppending() throws {
        try DurableFile.append([1], to: self.path)
        try DurableFile.append([2, 3], to: self.path)
        #expect(try DurableFile.read(self.path, atMost: 3) == [1, 2, 3])
        try DurableFile.remove(self.path)
        #expect(!DurableFile.exists(self.path))
    }

    @Test("a file gets its final name unless another has it; a step interrupted with both names is completed")
    func placing() throws {
        let temporary = self.folder.file("temporary")
        try DurableFile.write([1], to: temporary)
        try DurableFile.write([2], to: self.path)
        #expect(throws: FileError.exists(self.path)) { try DurableFile.place(temporary, at: self.path) }
        #expect(throws: FileError.exists(temporary)) { try DurableFile.place(temporary, at: temporary) }
        #expect(try DurableFile.read(self.path, atMost: 1) == [2])
        try DurableFile.remove(self.path)
        // A process killed between the two steps leaves both names.
        try FileManager.default.linkItem(atPath: temporary, toPath: self.path)
        try DurableFile.place(temporary, at: self.path)
        #expect(!DurableFile.exists(temporary))
        #expect(try DurableFile.read(self.path, atMost: 1) == [1])
    }

    @Test("folders are created with their parents, closed to other users, and existing ones are not changed")
    func folders() throws {
        let deep = self.folder.file("a/b/c")
        try DurableFile.makeFolder(deep)
        #expect(DurableFile.isFolder(deep))
        #expect(try DurableFile.mode(of: deep) == 0o700)
        #expect(try DurableFile.mode(of: self.folder.file("a")) == 0o700)
        try DurableFile.makeFolder(deep, mode: 0o755)
        #expect(try DurableFile.mode(of: deep) == 0o700)
        try DurableFile.write([1], to: self.path)
        #expect(throws: FileError.other(self.path, errno: ENOTDIR)) { try DurableFile.makeFolder(self.path) }
    }
}

private final class Winners: @unchecked Sendable {
    private let lock = NSLock()
    private var numbers: [Int] = []

    func add(_ number: Int) { self.lock.withLock { self.numbers.append(number) } }
    var all: [Int] { self.lock.withLock { self.numbers } }
}
