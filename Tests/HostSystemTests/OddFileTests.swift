import Foundation
import Glibc
import TestSupport
import Testing

@testable import HostSystem

@Suite("Names that do not lead to a regular file of their own")
struct OddFileTests {
    private let folder = TemporaryFolder()

    private static let openers: [(name: String, open: @Sendable (String) throws(FileError) -> Void)] = [
        ("append", { path throws(FileError) in _ = try AppendFile(path) }),
        ("read", { path throws(FileError) in _ = try AppendFile(reading: path) }),
        ("read if present", { path throws(FileError) in _ = try AppendFile.ifPresent(reading: path) }),
        ("records", { path throws(FileError) in _ = try RecordFile(opening: path) }),
        ("sync", { path throws(FileError) in try DurableFile.synchronize(path) }),
        (
            "lock",
            { path throws(FileError) in
                do throws(LockError) {
                    _ = try FileLock(path)
                } catch {
                    guard case .file(let error) = error else { return }
                    throw error
                }
            }
        ),
    ]

    @Test("every kind is refused by each function that opens a file of a store, at once and without a change")
    func refused() throws {
        let file = try self.folder.write("abc", to: "file")
        let (link, dangling) = (self.folder.file("link"), self.folder.file("dangling"))
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: file)
        try FileManager.default.createSymbolicLink(atPath: dangling, withDestinationPath: file + ".none")
        let (pipe, inside) = (self.folder.file("pipe"), self.folder.file("folder"))
        try #require(unsafe mkfifo(pipe, 0o600) == 0)
        try DurableFile.makeFolder(inside)
        let (one, two) = (try self.folder.write("def", to: "one"), self.folder.file("two"))
        try FileManager.default.linkItem(atPath: one, toPath: two)
        let socket = self.folder.file("socket")
        let listener = try Self.listener(at: socket)
        defer { close(listener) }
        for (path, kind) in [
            (link, .symbolicLink), (dangling, .symbolicLink), (pipe, .pipe), (inside, .folder), (socket, .socket),
            (one, .names(2)), (two, .names(2)), ("/dev/null", .device),
        ] as [(String, OddFile)] {
            for opener in Self.openers {
                #expect(throws: FileError.odd(path, kind), "\(opener.name)") { try opener.open(path) }
            }
        }
        // A file that is authenticated as a whole may have several names, and must not be a link.
        for (path, kind) in [
            (link, .symbolicLink), (dangling, .symbolicLink), (pipe, .pipe), (inside, .folder), (socket, .socket),
            ("/dev/null", .device),
        ] as [(String, OddFile)] {
            #expect(throws: FileError.odd(path, kind)) { _ = try AppendFile(readingAuthenticated: path) }
        }
        for path in [one, two] { #expect(try AppendFile(readingAuthenticated: path).byteCount() == 3) }
        #expect(try DurableFile.read(file, atMost: 10) == Array("abc".utf8))
        #expect(!DurableFile.exists(file + ".none") && DurableFile.isNamed(dangling))
        // A file that is read as a whole may be a link, and must still be a regular file.
        #expect(try DurableFile.readWithMode(link, atMost: 10).bytes == Array("abc".utf8))
        #expect(try AppendFile(reading: link, followingLinks: true).byteCount() == 3)
        for (path, kind) in [(pipe, .pipe), (inside, .folder), (socket, .socket), ("/dev/zero", .device)]
            as [(String, OddFile)]
        {
            #expect(throws: FileError.odd(path, kind)) { try DurableFile.read(path, atMost: 10) }
            #expect(throws: FileError.odd(path, kind)) { try DurableFile.readWithMode(path, atMost: 10) }
        }
        #expect(try DurableFile.read(link, atMost: 10) == Array("abc".utf8))
        #expect(try DurableFile.read(one, atMost: 10) == Array("def".utf8))
        let names = #expect(throws: FileError.self) { _ = try AppendFile(one) }
        #expect(names?.reason.hasSuffix("`find / -samefile \(one)`, and remove the others") == true)
        // A file of a program's own data may not be a link.
        #expect(try DurableFile.readOwn(two, atMost: 10) == Array("def".utf8))
        for (path, kind) in [(link, .symbolicLink), (pipe, .pipe), (inside, .folder)] as [(String, OddFile)] {
            #expect(throws: FileError.odd(path, kind)) { try DurableFile.readOwn(path, atMost: 10) }
        }
    }

    @Test("a link to a folder is not emptied like a folder")
    func linkedFolder() throws {
        let target = self.folder.file("target")
        try DurableFile.makeFolder(target)
        try DurableFile.write([1], to: target + "/kept")
        let link = self.folder.file("link")
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: target)
        #expect(throws: FileError.odd(link, .symbolicLink)) { try DurableFile.removeFolder(link) }
        #expect(DurableFile.exists(target + "/kept"))
    }

    @Test("a file that is created or placed never has two names")
    func oneName() throws {
        let path = self.folder.file("file")
        try DurableFile.create([1], at: path)
        try DurableFile.write([2], to: path + ".partial")
        #expect(throws: FileError.exists(path)) { try DurableFile.place(path + ".partial", at: path) }
        try DurableFile.place(path + ".partial", at: path + "2")
        for name in [path, path + "2"] { _ = try AppendFile(name) }
        #expect(!DurableFile.isNamed(path + ".partial"))
    }

    @Test("each error names its cause, and the way out if there is one")
    func reasons() {
        for (code, text) in [
            (EACCES, "permission denied (EACCES)"), (EPERM, "operation not permitted (EPERM)"),
            (EROFS, "read-only file system (EROFS): look for errors of its disk with `dmesg`, and remount it"),
            (ENOSPC, "no space left on device (ENOSPC): free some space"),
            (EDQUOT, "disk quota exceeded (EDQUOT): raise this user's quota"),
            (EFBIG, "file too large (EFBIG): raise the limit on file sizes (`ulimit -f`, LimitFSIZE=)"),
            (EIO, "input/output error (EIO)"),
        ] {
            #expect("\(SystemCall.error(code, "f"))" == "f: \(text)")
        }
        for code in [ENOSPC, EDQUOT, EFBIG] { #expect(SystemCall.error(code, "f") == .diskFull("f", errno: code)) }
        #expect(SystemCall.error(EROFS, "f") == .readOnly("f"))
    }

    private static func listener(at path: String) throws -> Int32 {
        let number = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: Array(path.utf8)) }
        let result = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe bind(number, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        try #require(result == 0, "\(path)")
        return number
    }
}
