import Foundation
import Glibc
import HostSystem
import LabFiles
import TestSupport
import Testing

@Suite("The files of a wallet's home")
struct WalletFilesTests {
    private static let pin = "024791"

    private let lab: LabUnderTest
    private let phone: CommandLinePhone

    init() async throws {
        self.lab = try await LabUnderTest()
        self.phone = CommandLinePhone(in: self.lab)
    }

    /// Unlocks with a time limit, because a program that opens a pipe may wait forever.
    private func unlock(_ arguments: String...) async throws -> ProgramRun {
        // Not in the home, which may be on a full disk.
        let file = "\(self.lab.folder)/pins"
        try DurableFile.write(Array("\(Self.pin)\n".utf8), to: file)
        let all = ["unlock", "--home", self.phone.home, "--lab", self.lab.lab.path, "--json", "--pin-file", file]
        return try await ServerProcess.run(
            "/usr/bin/timeout",
            ["-k", "1", "60", Programs.path("wallet")] + all + arguments
        )
    }

    @Test("a link or a pipe in place of a file is named, nothing waits for it, and the link's target is not changed")
    func oddFiles() async throws {
        let server = try await self.lab.start()
        try await self.phone.setUp(pin: Self.pin)
        let victim = "\(self.lab.folder)/victim"
        try DurableFile.write(Array("other data".utf8), to: victim)
        let names = try ["app", "device"].flatMap { folder in
            try DurableFile.names(in: "\(self.phone.home)/\(folder)").map { "\(folder)/\($0)" }
        }
        #expect(Set(names).isSuperset(of: ["app/state.json", "app/access.sealed", "app/receipts.json"]))
        for name in names + ["lock"] {
            let file = "\(self.phone.home)/\(name)"
            try FileManager.default.moveItem(atPath: file, toPath: file + ".kept")
            try FileManager.default.createSymbolicLink(atPath: file, withDestinationPath: victim)
            try await self.expectRefused(file, "a symbolic link")
            #expect(try DurableFile.read(victim, atMost: 100) == Array("other data".utf8), "\(name)")
            try FileManager.default.removeItem(atPath: file)
            try #require(unsafe mkfifo(file, 0o600) == 0)
            try await self.expectRefused(file, "a named pipe")
            try FileManager.default.removeItem(atPath: file)
            try FileManager.default.moveItem(atPath: file + ".kept", toPath: file)
        }
        // The settings are the user's, who may keep them elsewhere.
        let settings = "\(self.phone.home)/wallet.yaml"
        try DurableFile.write(Array("language: nl\n".utf8), to: "\(self.lab.folder)/settings.yaml")
        try FileManager.default.createSymbolicLink(atPath: settings, withDestinationPath: "../settings.yaml")
        #expect(try await self.unlock().exitCode == 0)
        try FileManager.default.removeItem(atPath: settings)
        try #require(unsafe mkfifo(settings, 0o600) == 0)
        try await self.expectRefused(settings, "a named pipe")
        #expect(await server.terminate() == 0)
    }

    private func expectRefused(_ file: String, _ reason: String) async throws {
        let run = try await self.unlock()
        // The two caches of the server's words and receipts are optional: without them the wallet still opens.
        let isCache = file.hasSuffix("/server-words.json") || file.hasSuffix("/receipts.json")
        #expect(isCache && run.exitCode == 0 || run.exitCode == 70, "\(file) \(reason): \(run.exitCode) \(run.output)")
        // An error screen names the cause only.
        let isNamed = run.output.contains(reason) || run.output.contains(/"cause":"(device-)?storage"/)
        #expect(run.exitCode == 0 || isNamed, "\(file): \(run.output)")
    }

    @Test("a version or model that the protocol cannot carry is refused at the option and not stored")
    func versions() async throws {
        let server = try await self.lab.start()
        try await self.phone.setUp(pin: Self.pin)
        let profile = try self.phone.files("device")["profile.yaml"]
        for (option, value) in [
            ("--app-version", "1.4.0-rc1"), ("--os-version", "16 QPR2 β"), ("--model", "Pixel™"),
            ("--set", "app_version=1.4."),
        ] {
            let run = try await self.phone.run("unlock", option, value, pins: [Self.pin])
            #expect(run.exitCode == 64 && run.output.contains("must be"), "\(option): \(run.output)")
        }
        #expect(try self.phone.files("device")["profile.yaml"] == profile)
        #expect(try await self.phone.run("unlock", "--app-version", "1.4", pins: [Self.pin]).exitCode == 0)
        let stored = String(decoding: try #require(profile), as: UTF8.self)
        let damaged = stored.replacing("app_version: ", with: "app_version: 1.4.0-rc")
        try DurableFile.write(Array(damaged.utf8), to: "\(self.phone.home)/device/profile.yaml")
        let unlock = try await self.unlock()
        #expect(unlock.exitCode == 70 && unlock.output.contains("profile.yaml"), "\(unlock.output)")
        let wipe = try await self.phone.run("wipe", "--yes")
        #expect(wipe.exitCode == 0 && wipe.output.contains("replaced by a new one"), "\(wipe.output)")
        #expect(await server.terminate() == 0)
    }

    @Test("a full disk ends a command that changes the phone with 70", .enabled(if: SmallDisk.isPermitted))
    func fullDisk() async throws {
        try DurableFile.makeFolder(self.phone.home)
        let disk = try SmallDisk(at: self.phone.home)
        let server = try await self.lab.start()
        try await self.phone.setUp(pin: Self.pin)
        disk.fill()
        let full = try await self.unlock("--sensor", "cancel")
        #expect(full.exitCode == 70 && full.output.contains("ENOSPC"), "\(full.exitCode) \(full.output)")
        try disk.clear()
        #expect(try await self.unlock("--sensor", "cancel").exitCode == 0)
        #expect(try await self.unlock("--platform", "ios").exitCode == 64)
        #expect(await server.terminate() == 0)
    }
}
