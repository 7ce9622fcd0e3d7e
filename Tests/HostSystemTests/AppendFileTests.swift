import Foundation
import HostSystem
import TestSupport
import Testing

@Suite("Files for appending")
struct AppendFileTests {
    private let folder = TemporaryFolder()

    @Test("appended bytes follow the existing ones, and any part of the file can be read")
    func appends() throws {
        let path = try self.folder.write("abc", to: "file")
        let file = try AppendFile(path)
        try file.append(Array("defg".utf8))
        try file.append(Array("h".utf8))
        #expect(try file.byteCount() == 8)
        #expect(try file.read(at: 2, atMost: 3) == Array("cde".utf8))
        #expect(try file.read(at: 6, atMost: 100) == Array("gh".utf8))
        #expect(try file.read(at: 8, atMost: 5) == [])
        #expect(try AppendFile(reading: path).read(at: 0, atMost: 9) == Array("abcdefgh".utf8))
    }

    /// A way in which another program changes the file.
    enum Change: CaseIterable {
        case cut, extended, removed, moved, replaced
    }

    @Test(
        "nothing is appended to a file that another program cut, extended, removed, moved or replaced",
        arguments: Change.allCases
    )
    func changed(change: Change) throws {
        let path = try self.folder.write("abc", to: "file")
        let file = try AppendFile(path)
        try file.append(Array("defg".utf8))
        let expected: AppendFile.Change
        switch change {
        case .cut:
            try FileHandle(forUpdating: URL(fileURLWithPath: path)).truncate(atOffset: 2)
            expected = .length(path, written: 7, found: 2)
        case .extended:
            try DurableFile.append(Array("!".utf8), to: path)
            expected = .length(path, written: 7, found: 8)
        case .removed:
            try DurableFile.remove(path)
            expected = .moved(path, written: 7)
        case .moved:
            try FileManager.default.moveItem(atPath: path, toPath: self.folder.file("away"))
            expected = .moved(path, written: 7)
        case .replaced:
            // The same contents, as after an editor or `mv`.
            try DurableFile.write(Array("abcdefg".utf8), to: path)
            expected = .moved(path, written: 7)
        }
        #expect(throws: AppendFile.AppendError.changed(expected)) { try file.append(Array("h".utf8)) }
        if change == .replaced { #expect(try DurableFile.read(path, atMost: 10) == Array("abcdefg".utf8)) }
        if change == .cut { #expect(try DurableFile.read(path, atMost: 10) == Array("ab".utf8)) }
    }

    @Test("a missing file is not created, a link is not followed, and a reader cannot append")
    func refusals() throws {
        let path = try self.folder.write("abc", to: "file")
        let missing = self.folder.file("missing")
        #expect(throws: FileError.notFound(missing)) { try AppendFile(missing) }
        let link = self.folder.file("link")
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: path)
        #expect(throws: FileError.self) { try AppendFile(link) }
        let reader = try AppendFile(reading: path)
        #expect(throws: AppendFile.AppendError.self) { try reader.append([1]) }
        #expect(try DurableFile.read(path, atMost: 10) == Array("abc".utf8))
    }

    @Test("an append that does not fit on the disk leaves no part of it", .enabled(if: SmallDisk.isPermitted))
    func fullDisk() throws {
        let disk = try SmallDisk()
        let path = "\(disk.path)/log"
        try DurableFile.write([1, 2, 3], to: path)
        let file = try AppendFile(path)
        disk.fill()
        // The rest of the file's page takes some of these bytes.
        #expect(throws: AppendFile.AppendError.refused(.diskFull(path, errno: ENOSPC))) {
            try file.append(Array(repeating: 4, count: 10_000))
        }
        #expect(try DurableFile.read(path, atMost: 10_000) == [1, 2, 3])
        try disk.clear()
        try file.append([4])
        #expect(try DurableFile.read(path, atMost: 10_000) == [1, 2, 3, 4])
    }
}

@Suite("The machine's users and groups")
struct AccountsTests {
    @Test("root has its name and its group; a number is accepted as it is, and unknown names are not found")
    func names() {
        #expect(Accounts.userName(of: 0) == "root")
        #expect(Accounts.groupID(of: "root") == 0)
        #expect(Accounts.groupID(of: "4711") == 4711)
        #expect(Accounts.groupID(of: "no-such-group") == nil)
        #expect(Accounts.userName(of: 4_000_000_011) == nil)
    }
}
