import Foundation
import Glibc
import HostSystem
import LabFiles
import TestSupport
import Testing
import Vocabulary

/// Runs the program with these arguments.
private func server(_ arguments: String...) async throws -> ProgramRun {
    try await ServerProcess.run("remote-pin-server", arguments)
}

/// A lab in a separate folder, created by the program.
private func lab(_ path: String) async throws -> LabFolder {
    let run = try await server("init", "--lab", path)
    try #require(run.exitCode == 0, "\(run.output)")
    return LabFolder(path)
}

@Suite("The server's program")
struct ServerProgramTests {
    private let folder = TemporaryFolder()
    private var path: String { self.folder.path }

    @Test("a lab is served on a free port, and on the same one after a kill")
    func samePort() async throws {
        let lab = try await lab("\(self.path)/lab")
        #expect(try LabFile(of: lab).port == 0)
        let first = try await ServerProcess.start(["serve", lab.path])
        let port = try LabFile(of: lab).port
        #expect(port != 0)
        await first.kill()
        let second = try await ServerProcess.start(["serve", lab.path])
        #expect(try LabFile(of: lab).port == port)
        #expect(await second.terminate() == 0)
    }

    @Test("the socket of a lab in any folder can be opened, and the lab's clock only advances")
    func deepLab() async throws {
        let deep = "\(self.path)/" + Array(repeating: "a-rather-long-name", count: 10).joined(separator: "/")
        let parents = deep.split(separator: "/").dropLast()
        for count in 3...parents.count {
            try DurableFile.makeFolder("/" + parents.prefix(count).joined(separator: "/"))
        }
        let lab = try await lab(deep)
        let running = try await ServerProcess.start(["serve", deep])
        let before = try FollowedLabClock(file: lab.clockFile).now()
        let moved = try await server("admin", "clock", "advance", "61s", "--lab", deep)
        #expect(moved.exitCode == 0, "\(moved.output)")
        #expect(try FollowedLabClock(file: lab.clockFile).now() >= before + .seconds(61))
        #expect(try await server("admin", "clock", "advance", "-1s", "--lab", deep).exitCode == 64)
        #expect(await running.terminate() == 0)
        #expect(try await server("admin", "clock", "advance", "61s", "--lab", deep).exitCode == 69)
    }

    @Test("the configured number of threads serves connections")
    func threads() async throws {
        let lab = try await lab("\(self.path)/lab")
        let running = try await ServerProcess.start(["serve", lab.path, "--listen.threads", "3"])
        let tasks = "/proc/\(running.processID)/task"
        let names = try DurableFile.names(in: tasks).map { try DurableFile.read("\(tasks)/\($0)/comm", atMost: 64) }
        #expect(names.count { String(decoding: $0, as: UTF8.self).hasPrefix("NIO-SGLTN") } == 3)
        #expect(await running.terminate() == 0)
    }

    @Test("the limit on open files is raised for the connections; if the machine allows fewer, the log says so")
    func openFiles() async throws {
        let lab = try await lab("\(self.path)/lab")
        for (connections, warns) in [(2000, false), (1_000_000, true)] {
            let running = try await ServerProcess.start([
                "serve", lab.path, "--limits.connections", "\(connections)", "--log.file", "none",
            ])
            let bytes = try DurableFile.read("/proc/\(running.processID)/limits", atMost: 1 << 16)
            let line = String(decoding: bytes, as: UTF8.self).split(separator: "\n").first { $0.hasPrefix("Max open") }
            let allowed = line?.split(separator: " ").dropFirst(3).first.flatMap { Int($0) } ?? 0
            #expect(running.output.contains("fewer open files are allowed") == (allowed < connections + 256))
            #expect(warns || allowed >= connections + 256)
            #expect(await running.terminate() == 0)
        }
    }

    @Test("existing files are never overwritten")
    func initTwice() async throws {
        let lab = try await lab("\(self.path)/lab")
        let key = try DurableFile.read(lab.vaultKeyFile, atMost: 4096)
        for arguments in [["init", "--lab", lab.path], ["init", lab.path], ["init", lab.serverFolder]] {
            let run = try await ServerProcess.run("remote-pin-server", arguments)
            #expect(run.exitCode == 74)
            #expect(run.output.contains("nothing was changed"))
        }
        #expect(try DurableFile.read(lab.vaultKeyFile, atMost: 4096) == key)
    }

    @Test("a data folder in use is rejected with the id of the process that uses it")
    func inUse() async throws {
        let lab = try await lab("\(self.path)/lab")
        let running = try await ServerProcess.start(["serve", lab.path])
        let second = try await server("serve", lab.path)
        #expect(second.exitCode == 69)
        #expect(second.output.contains("in use by process \(running.processID); stop it first"), "\(second.output)")
        #expect(await running.terminate() == 0)
    }

    @Test("a missing or invalid store is named and left unchanged")
    func unusableStore() async throws {
        let lab = try await lab("\(self.path)/lab")
        let store = "\(lab.dataFolder)/wallets.db"
        let bytes = try DurableFile.read(store, atMost: 1 << 24)
        let junk = Array("not a database, whatever its name says ".utf8) + Array(repeating: 1, count: 4096)
        try DurableFile.write(junk, to: store)
        let damaged = try await server("serve", lab.path)
        #expect(damaged.exitCode == 79)
        #expect(damaged.output.contains("not a wallet store"), "\(damaged.output)")
        #expect(try DurableFile.read(store, atMost: 1 << 24) == junk)
        try DurableFile.remove(store)
        let missing = try await server("serve", lab.path)
        #expect(missing.exitCode == 74)
        #expect(missing.output.contains("no store exists at"), "\(missing.output)")
        #expect(!DurableFile.exists(store))
        // SQLite's user_version, from a newer server than this one.
        var newer = bytes
        newer.replaceSubrange(60..<64, with: [0, 0, 3, 231])
        try DurableFile.write(newer, to: store)
        let downgraded = try await server("serve", lab.path)
        #expect(downgraded.exitCode == 78)
        #expect(downgraded.output.contains("the store has version 999"), "\(downgraded.output)")
        #expect(try DurableFile.read(store, atMost: 1 << 24) == newer)
        try DurableFile.write(bytes, to: store)
        let running = try await ServerProcess.start(["serve", lab.path])
        #expect(await running.terminate() == 0)
    }

    @Test("systemd does not restart a server whose store or audit log needs an operator")
    func noRestart() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..")
        let file = root.appending(path: "deploy/systemd/remote-pin-server.service")
        let unit = try String(contentsOf: file, encoding: .utf8)
        let setting = try #require(unit.split(separator: "\n").first { $0.hasPrefix("RestartPreventExitStatus=") })
        let statuses = Set(setting.split { " =".contains($0) })
        #expect(statuses.isSuperset(of: ["77", "78", "79"]))
        // After a full disk the server must start again without an operator.
        #expect(unit.contains("\nStartLimitIntervalSec=0\n") && !statuses.contains("74") && !statuses.contains("69"))
    }

    @Test("no service leaves a core dump, and none that holds secrets is swapped out")
    func units() throws {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../deploy/systemd")
        let services = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter {
            $0.hasSuffix(".service")
        }
        #expect(services.count == 6)
        for name in services {
            let unit = try String(contentsOf: folder.appending(path: name), encoding: .utf8)
            #expect(unit.contains("\nLimitCORE=1\n"), "\(name)")
            #expect(unit.contains("\nEnvironment=SWIFT_BACKTRACE=enable=no\n"), "\(name)")
            guard ["server", "portal", "keys"].contains(where: { name == "remote-pin-\($0).service" }) else { continue }
            #expect(unit.contains("\nMemorySwapMax=0\n"), "\(name)")
            // After a failure that lasts, for example of the network, it must start again without an operator.
            #expect(unit.contains("\nStartLimitIntervalSec=0\n"), "\(name)")
        }
    }

    @Test("a crash of the server in its image writes no memory to the log")
    func image() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..")
        let file = root.appending(path: "deploy/container/build.sh")
        let text = try String(contentsOf: file, encoding: .utf8)
        #expect(text.contains(" --config.env SWIFT_BACKTRACE=enable=no "))
    }

    @Test("no package is made of a program that needs the toolchain's libraries")
    func toolchainLibraries() async throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..")
        let programs = URL(filePath: Programs.path("remote-pin-server")).deletingLastPathComponent().path
        let run = try await ServerProcess.run(
            "/bin/bash",
            [root.appending(path: "deploy/debian/build.sh").path, programs, "\(self.path)/packages"]
        )
        // The programs next to the tests are debug builds.
        #expect(run.exitCode == 1)
        #expect(run.output.contains("remote-pin-server needs libraries that Debian does not have"), "\(run.output)")
        #expect(run.output.contains("libswiftCore"))
    }

    @Test("init without a lab requires the values that only the operator knows")
    func production() async throws {
        let path = "\(self.path)/production"
        #expect(try await server("init", path).exitCode == 0)
        for name in ["server.yaml", "vault.key", "data/wallets.db"] { #expect(DurableFile.exists("\(path)/\(name)")) }
        let run = try await server("serve", path)
        #expect(run.exitCode == 78)
        for name in ["tls.certificate", "tls.key", "android.apps"] { #expect(run.output.contains(name)) }
    }

    @Test("init creates the files that an incomplete configuration names, once, and no key for an existing store")
    func initState() async throws {
        let file = "\(self.path)/server.yaml"
        let text = "data: {folder: there/data}\nvault: {key-file: keys/vault.key}\n"
        try DurableFile.write(Array(text.utf8), to: file)
        try DurableFile.makeFolder("\(self.path)/keys")
        let made = try await server("init", "--config", file)
        #expect(made.exitCode == 0, "\(made.output)")
        let key = "\(self.path)/keys/vault.key"
        #expect(try DurableFile.mode(of: key) == 0o600 && DurableFile.exists("\(self.path)/there/data/wallets.db"))
        let again = try await server("init", "--config", file)
        #expect(again.exitCode == 74 && again.output.contains("nothing was changed"))
        try DurableFile.remove(key)
        let store = try await server("init", "--config", file)
        #expect(store.exitCode == 74 && !DurableFile.exists(key), "\(store.output)")
        #expect(try await server("init", "--config", file, "\(self.path)/other").exitCode == 64)
        #expect(try await server("init", "--lab", "--config", file).exitCode == 64)
    }

    @Test("production rejects a lab's roots, folder and clock; a lab rejects production's store")
    func boundary() async throws {
        let lab = try await lab("\(self.path)/lab")
        let path = "\(self.path)/production"
        #expect(try await server("init", path).exitCode == 0)
        let named = [
            "--tls.certificate", lab.certificateFile, "--tls.key", lab.certificateKeyFile,
            "--ios.apps", "ABCDE12345.org.example.wallet", "--listen.address", "127.0.0.1:0",
            "--observation.listen", "none",
        ]
        func check(_ more: [String]) async throws -> ProgramRun {
            try await ServerProcess.run("remote-pin-server", ["check-config", path] + named + more)
        }
        #expect(try await check([]).exitCode == 0)
        let roots = try await check(["--android.roots", "\(lab.authorityFolder)/android-root.pem"])
        #expect(roots.exitCode == 78)
        #expect(roots.output.contains("is a lab's root"), "\(roots.output)")
        let folder = try await check(["--data.folder", lab.dataFolder])
        #expect(folder.exitCode == 78)
        #expect(folder.output.contains("lies in the lab"), "\(folder.output)")
        let clock = try await check(["--lab.folder", lab.path])
        #expect(clock.exitCode == 78)
        #expect(clock.output.contains("must not switch between two clocks"), "\(clock.output)")

        let production = try await ProductionUnderTest()
        let running = try await production.start()
        let socket = "\(production.folder)/admin.sock"
        let advance = try await server("admin", "clock", "advance", "61s", "--socket", socket)
        #expect(advance.exitCode == 77)
        #expect(advance.output.contains("this server is not one"), "\(advance.output)")
        #expect(await running.terminate() == 0)
    }

    @Test("all problems of a configuration are reported together, with line and nearest name")
    func problems() async throws {
        let lab = try await lab("\(self.path)/lab")
        let file = "\(self.path)/wrong.yaml"
        try DurableFile.write(Array("pin:\n  round: 4\nlog:\n  level: loud\n".utf8), to: file)
        let run = try await server("check-config", "--config", file, "--tls.key", lab.certificateKeyFile)
        #expect(run.exitCode == 78)
        #expect(run.output.contains("\(file):2: `pin.round` is not a known key; did you mean `rounds`?"))
        #expect(run.output.contains("\(file):4: `log.level` must be debug, info, notice, warning or error, not `loud`"))
        #expect(run.output.contains("`tls.certificate` must be set"))
        #expect(!run.output.contains("`tls.key` must be set"))
    }

    @Test("a missing status list, certificate and key are each reported once, in words")
    func missing() async throws {
        let lab = try await lab("\(self.path)/lab")
        let run = try await server(
            "check-config",
            lab.path,
            "--android.status-list",
            "/nowhere/list.json",
            "--tls.key",
            "/nowhere/key.pem"
        )
        #expect(run.exitCode == 78)
        for text in [
            "`android.status-list`: /nowhere/list.json: no such file", "`tls.key`: /nowhere/key.pem: no such file",
        ] {
            #expect(run.output.split(separator: text, omittingEmptySubsequences: false).count == 2, "\(run.output)")
        }
        let chain = try await server("check-config", lab.path, "--tls.certificate", "/nowhere/tls.pem")
        #expect(chain.output.contains("`tls.certificate`: /nowhere/tls.pem: no such file"), "\(chain.output)")
    }

    @Test("a pipe, folder or device in the place of a file is named by each command, and none waits for it")
    func oddFiles() async throws {
        let lab = try await lab("\(self.path)/lab")
        let (pipe, folder) = ("\(self.path)/pipe", "\(self.path)/folder")
        try #require(unsafe mkfifo(pipe, 0o600) == 0)
        try DurableFile.makeFolder(folder)
        let files = [(pipe, "a named pipe"), (folder, "a folder"), ("/dev/zero", "a device")]
        let settings = ["tls.key", "tls.certificate", "android.status-list", "android.roots", "ios.roots"]
        for (index, setting) in settings.enumerated() {
            let (file, kind) = files[index % files.count]
            for command in ["check-config", "serve", "doctor"] {
                let run = try await server(command, lab.path, "--\(setting)", file)
                #expect(run.exitCode == (command == "doctor" ? 2 : 78), "\(command): \(run.output)")
                #expect(run.output.contains("\(file): \(kind); a regular file is expected"), "\(run.output)")
            }
        }
        let file = lab.clockFile
        if DurableFile.isNamed(file) { try FileManager.default.removeItem(atPath: file) }
        try #require(unsafe mkfifo(file, 0o600) == 0)
        for command in ["check-config", "serve", "doctor"] {
            let run = try await server(command, lab.path)
            #expect(run.exitCode == (command == "doctor" ? 2 : 78), "\(command): \(run.output)")
            #expect(run.output.contains("\(file): a named pipe; a regular file is expected"), "\(run.output)")
        }
    }

    @Test("a key file that others can read is rejected")
    func openKey() async throws {
        let lab = try await lab("\(self.path)/lab")
        let key = try DurableFile.read(lab.certificateKeyFile, atMost: 4096)
        try DurableFile.write(key, to: lab.certificateKeyFile, mode: 0o644)
        let run = try await server("serve", lab.path)
        #expect(run.exitCode == 78)
        #expect(run.output.contains("others must not read it"), "\(run.output)")
    }

    @Test("each setting is shown with its source, and errors in some settings do not hide the others")
    func origins() async throws {
        let file = "\(self.path)/server.yaml"
        func write(_ text: String) throws { try DurableFile.write(Array(text.utf8), to: file) }
        func show(_ more: String...) async throws -> ProgramRun {
            try await ServerProcess.run(
                "/usr/bin/env",
                ["REMOTE_PIN_SESSION_LIFETIME=2m", Programs.path("remote-pin-server")]
                    + ["config", "show", "--config", file] + more
            )
        }
        try write("tls: {certificate: a.pem, key: /b}\nios: {apps: [ABCDE12345.org.example.wallet]}\n")
        let good = try await show("--limits.frame", "4s", "--changed")
        #expect(good.exitCode == 0, "\(good.output)")
        let lines = good.output.split(separator: "\n").map { $0.split(separator: " ").joined(separator: " ") }
        #expect(lines.first == "SETTING VALUE FROM")
        #expect(
            Set(lines.dropFirst()) == [
                "tls.certificate \(self.path)/a.pem \(file):1", "tls.key /b \(file):1",
                "ios.apps [ABCDE12345.org.example.wallet] \(file):2", "limits.frame 4s --limits.frame",
                "session.lifetime 2m REMOTE_PIN_SESSION_LIFETIME",
            ]
        )
        try write("tls: {certificate: a.pem}\nlog: {level: loud}\n")
        let bad = try await show("--json", "--pin.round", "4")
        #expect(bad.exitCode == 78)
        let json = try JSONValue(String(bad.output.split(separator: "\n").first { $0.hasPrefix("{") } ?? ""))
        let settings = Dictionary(grouping: json["settings"]?.array ?? []) { $0["name"]?.string ?? "" }
        #expect(
            settings["log.level"]?.first?["value"]?.string == nil,
            "a rejected value is not shown as another setting's"
        )
        #expect(settings["tls.certificate"]?.first?["line"] == .integer(1))
        #expect(settings["session.lifetime"]?.first?["sourceName"]?.string == "REMOTE_PIN_SESSION_LIFETIME")
        #expect(settings["pin.rounds"]?.first?["source"]?.string == "default")
        let problems = (json["problems"]?.array ?? []).compactMap { $0["message"]?.string }
        for part in ["not `loud`", "unknown setting `pin.round`", "`tls.key` must be set"] {
            #expect(problems.contains { $0.contains(part) } && bad.output.contains(part), "\(bad.output)")
        }
    }

    @Test("the program has a help text")
    func help() async throws {
        let help = try await server("help", "serve")
        #expect(help.exitCode == 0)
        #expect(help.output.contains("--session.lifetime <duration>"))
        #expect(try await server("help", "config", "show").output.contains("--json"))
        #expect(try await server("--version").output.contains("remote-pin/1"))
        #expect(try await server("--generate-completion-script", "bash").output.contains("check-config"))
        #expect(try await server("serv").exitCode == 64)
    }
}
