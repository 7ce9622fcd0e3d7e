import Glibc
import Lab
import LabFiles
import HostSystem
import TestSupport
import Testing
import Transport
import Vocabulary

/// Invalid files at the server's start and while it runs.
@Suite("The server's files")
struct ServerFilesTests {
    private let lab: LabUnderTest

    init() async throws {
        self.lab = try await LabUnderTest()
    }

    @Test("a store of another version is named with both versions and the way out, and left unchanged")
    func newerStore() async throws {
        let path = "\(self.lab.lab.dataFolder)/wallets.db"
        var bytes = try DurableFile.read(path, atMost: 1 << 24)
        // The file's `user_version` (SQLite: Database File Format §1.3).
        bytes[63] = 99
        try DurableFile.write(bytes, to: path)
        let run = try await ServerProcess.run("remote-pin-server", ["lab", "up", self.lab.lab.path])
        #expect(run.exitCode == 78)
        #expect(run.output.contains("has version 99"), "\(run.output)")
        #expect(run.output.contains("restore the backup made before the upgrade"), "\(run.output)")
        #expect(try DurableFile.read(path, atMost: 1 << 24) == bytes)
    }

    @Test(
        "a vault key file that others can read, damaged or missing is named with the way out",
        arguments: [
            ("mode", "chmod 600"), ("damage", "restore the file from a backup"), ("loss", "vault.key"),
            ("line ends", "line 1 ends with CR LF"), ("byte order mark", "line 1 begins with a byte order mark"),
        ]
    )
    func vaultKey(what: String, message: String) async throws {
        let path = self.lab.lab.vaultKeyFile
        let bytes = try DurableFile.read(path, atMost: 1 << 16)
        switch what {
        case "mode": try DurableFile.write(bytes, to: path, mode: 0o640)
        case "damage": try DurableFile.write(Array(bytes.dropLast(9)) + [0x21], to: path)
        case "line ends": try DurableFile.write(bytes.flatMap { $0 == 0x0A ? [0x0D, 0x0A] : [$0] }, to: path)
        case "byte order mark": try DurableFile.write([0xEF, 0xBB, 0xBF] + bytes, to: path)
        default: try DurableFile.remove(path)
        }
        let run = try await ServerProcess.run("remote-pin-server", ["lab", "up", self.lab.lab.path])
        #expect(run.exitCode == 78, "\(run.output)")
        #expect(run.output.contains(message), "\(run.output)")
        #expect(DurableFile.exists(path) == (what != "loss"), "no new key replaces a missing one")
        try DurableFile.write(bytes, to: path)
        let server = try await self.lab.start()
        #expect(await server.terminate() == 0)
    }

    @Test("an option that a command does not have is named as it was typed")
    func unknownOption() async throws {
        for command in [["lab", "up", self.lab.lab.path], ["backup", "x", "--lab", self.lab.lab.path]] {
            let run = try await ServerProcess.run("remote-pin-server", command + ["--observation.listen", "none"])
            #expect(run.exitCode == 64 && run.output.contains("'--observation.listen'"), "\(run.output)")
        }
    }

    @Test("a lab always uses the same port, outside the range that the system assigns to clients")
    func port() async throws {
        let range = try DurableFile.read("/proc/sys/net/ipv4/ip_local_port_range", atMost: 64)
        let first = try #require(Int(String(decoding: range, as: UTF8.self).prefix { $0.isNumber }))
        var ports: Set<Int> = []
        try self.lab.use(port: 0)
        for _ in 0..<2 {
            let server = try await self.lab.start()
            ports.insert(try LabFile(of: self.lab.lab).port)
            #expect(await server.terminate() == 0)
        }
        #expect(ports.count == 1)
        #expect(ports.allSatisfy { $0 > 1_023 && $0 < first }, "\(ports), \(first)")
    }

    @Test("SIGHUP loads a new certificate and keeps connections; an invalid one is named and changes nothing")
    func certificate() async throws {
        let server = try await self.lab.start()
        let old = try self.lab.server
        let session = try await self.lab.register(pin: "024791").openSession()

        let authority = LabAuthority()
        let (certificate, key) = authority.issueTLSServerCertificate(names: ["localhost", "127.0.0.1"])
        try DurableFile.write(Array(certificate.utf8), to: self.lab.lab.certificateFile)
        try DurableFile.write(Array(key.utf8), to: self.lab.lab.certificateKeyFile)
        server.send(SIGHUP)
        #expect(await server.writes("certificate reloaded"))
        let trust = TLSTrust.authority(pem: Array(authority.tlsAuthorityPEM.utf8))
        let new = TestServer(
            host: old.host,
            port: old.port,
            tls: try TLSClientContext(trust: trust, serverName: "localhost"),
            authorityFolder: old.authorityFolder,
            clock: old.clock
        )
        try await new.greet().close()
        await #expect(throws: ConnectError.self) { try await old.connect() }
        #expect(try await session.check("024791").isValid)

        try DurableFile.write(Array("no certificate".utf8), to: self.lab.lab.certificateFile)
        server.send(SIGHUP)
        #expect(await server.writes("the old certificate stays"))
        // A certificate that the next start would reject is rejected here too.
        try DurableFile.write(Array(certificate.utf8), to: self.lab.lab.certificateFile)
        try DurableFile.write(Array(key.utf8), to: self.lab.lab.certificateKeyFile, mode: 0o640)
        server.send(SIGHUP)
        #expect(await server.writes("others must not read it"))
        try await new.greet().close()
        #expect(try await session.check("024791").isValid)
        #expect(await server.terminate() == 0)
    }

    @Test(
        "on a full disk the server starts or reports the reason; nothing is lost",
        .enabled(if: SmallDisk.isPermitted)
    )
    func fullDisk() async throws {
        let path = "\(self.lab.lab.dataFolder)/wallets.db"
        let disk = try SmallDisk(at: self.lab.lab.dataFolder)
        let bytes = try DurableFile.read(path, atMost: 1 << 24)
        disk.fill()
        do {
            let server = try await self.lab.start()
            await server.kill()
        } catch let failure as ServerProcess.NotReady {
            #expect(failure.output.contains("disk is full"), "\(failure)")
        }
        #expect(try DurableFile.read(path, atMost: 1 << 24) == bytes)
        try disk.clear()
        let server = try await self.lab.start()
        #expect(await server.terminate() == 0)
    }
}
