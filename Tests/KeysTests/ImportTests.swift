import Crypto
import Foundation
import TestSupport
import Testing

@Suite("Moving the index from a key file to a token")
struct ImportTests {
    private let root = Array("the root of an index, in a file.".utf8)

    private func derived(_ info: String, count: Int = 32) -> String {
        let key = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: self.root),
            info: Array(info.utf8),
            outputByteCount: count
        )
        return unsafe key.withUnsafeBytes { unsafe Self.hex(Array($0)) }
    }

    private static func hex(_ bytes: [UInt8]) -> String { bytes.map { String(format: "%02x", $0) }.joined() }

    private var check: String { self.derived("remote-pin/1 vault check", count: 4) }

    /// A key file with this word in the place of the root.
    private func text(_ word: String? = nil) -> String {
        """
        remote-pin vault keys 3
        # index and the key's other lines stay
        index \(word ?? Self.hex(self.root)) \(self.check)
        key 1 \(String(repeating: "ab", count: 32)) 01234567
        history 1 module 89abcdef
        active 1

        """
    }

    private func write(_ text: String, for token: SoftToken, mode: Int = 0o600) throws -> String {
        let path = try token.folder.write(text, to: "vault.key")
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
        return path
    }

    private func read(_ path: String) throws -> String { try String(contentsOfFile: path, encoding: .utf8) }

    @Test("the token derives the same keys as the file's root, of which only the word `module` is left")
    func moved() async throws {
        let token = try await SoftToken()
        try await token.make("key-1")
        let path = try self.write(self.text(), for: token)
        for _ in 0..<2 {
            let run = try await token.run(["import", path, "index"])
            #expect(run.exitCode == 0 && run.output == "index \(self.check)\n", "\(run.output)")
            #expect(try self.read(path) == self.text("module"))
        }
        #expect(token.count("C_CreateObject") == 1)
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        let checked = try await token.run(["check"])
        #expect(checked.output.contains(/remote-pin-index +sound +HMAC-SHA256 only +imported/), "\(checked.output)")
        let daemon = try await token.serve()
        let info = "remote-pin/1 vault mac recovery-code-index"
        let code = try await token.ask("mac index \(Self.hex(Array(info.utf8) + [1]))")
        #expect(code == "ok \(self.derived(info))")
        #expect(daemon.output.contains("a key has been outside the token"))
        #expect(await daemon.terminate() == 0)
    }

    @Test("a command that is interrupted after the token has the key is completed by the next one")
    func interrupted() async throws {
        let token = try await SoftToken()
        let path = try self.write(self.text(), for: token)
        let first = try await token.run(["import", path, "index"], plan: "C_Sign 1 0x30")
        #expect(first.exitCode == 69, "\(first.output)")
        #expect(try self.read(path) == self.text() && token.count("C_CreateObject") == 1)
        let second = try await token.run(["import", path, "index"])
        #expect(second.exitCode == 0, "\(second.output)")
        #expect(try self.read(path) == self.text("module") && token.count("C_CreateObject") == 1)
    }

    @Test("a token that is slow does not keep the server from changing its key file, and the change is kept")
    func slowToken() async throws {
        let token = try await SoftToken()
        let path = try self.write(self.text(), for: token)
        async let moved = token.run(["import", path, "index"], plan: "C_CreateObject 1 latency 3000")
        try await poll { token.count("C_CreateObject") == 1 }
        let lock = try await ServerProcess.run("/usr/bin/flock", ["-n", path + ".lock", "true"])
        #expect(lock.exitCode == 0)
        _ = try self.write(self.text() + "# a later line\n", for: token)
        #expect(try await moved.exitCode == 0)
        #expect(try self.read(path) == self.text("module") + "# a later line\n")
    }

    @Test("a token that refuses a key from outside leaves the file as it is, and the command says what that means")
    func refused() async throws {
        let token = try await SoftToken()
        let path = try self.write(self.text(), for: token)
        let run = try await token.run(["import", path, "index"], plan: "C_CreateObject 1 0xd1")
        #expect(run.exitCode == 78 && run.output.contains("FIPS"), "\(run.output)")
        #expect(run.output.contains("search for recovery codes"), "\(run.output)")
        #expect(try self.read(path) == self.text())
    }

    @Test("a token that knows no limit to one mechanism takes the key without it")
    func withoutLimit() async throws {
        let token = try await SoftToken()
        let path = try self.write(self.text(), for: token)
        let plan = "C_CreateObject 1 0x12; C_GetAttributeValue 2 0x12"
        let run = try await token.run(["import", path, "index"], plan: plan)
        #expect(run.exitCode == 0 && run.output.contains("does not limit"), "\(run.output)")
        #expect(try self.read(path) == self.text("module"))
    }

    @Test("another index in the token, or a file whose index is in another token, changes nothing")
    func otherKey() async throws {
        let token = try await SoftToken()
        let path = try self.write(self.text("module"), for: token)
        let missing = try await token.run(["import", path, "index"])
        #expect(missing.exitCode == 78 && missing.output.contains("another token"), "\(missing.output)")
        try await token.make("index")
        _ = try self.write(self.text(), for: token)
        let run = try await token.run(["import", path, "index"])
        #expect(run.exitCode == 78 && run.output.contains("another index"), "\(run.output)")
        #expect(try self.read(path) == self.text() && token.count("C_CreateObject") == 0)
    }

    @Test("only index moves, and only from a sound file of its owner")
    func rejected() async throws {
        let token = try await SoftToken()
        let path = try self.write(self.text(), for: token)
        let version = try await token.run(["import", path, "key-1"])
        #expect(version.exitCode == 64 && version.output.contains("rotate"), "\(version.output)")
        let index = self.text()
        for damaged in [
            index.replacingOccurrences(of: "index ", with: "Index "), index.replacingOccurrences(of: "74", with: "75"),
            index + "index module \(self.check)\n", "",
        ] {
            _ = try self.write(damaged, for: token)
            let run = try await token.run(["import", path, "index"])
            #expect(run.exitCode == 65, "\(run.output)")
            #expect(try self.read(path) == damaged)
        }
        _ = try self.write(index, for: token, mode: 0o640)
        let run = try await token.run(["import", path, "index"])
        #expect(run.exitCode == 78 && run.output.contains("0600"), "\(run.output)")
        #expect(token.count("C_Initialize") == 0, "a rejected file costs no login")
    }
}
