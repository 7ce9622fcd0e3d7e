import Foundation
import Glibc
import HostSystem
import LabFiles
import TestSupport
import Testing

@Suite("Checks of a production server before it starts")
struct StartChecksTests {
    private let server: ProductionUnderTest
    private static let day: TimeInterval = 86_400

    init() async throws {
        self.server = try await ProductionUnderTest()
    }

    @Test("root is rejected, since its files would keep the service from starting", .enabled(if: geteuid() == 0))
    func root() async throws {
        let run = try await ServerProcess.run(
            "remote-pin-server",
            [
                "serve", self.server.folder, "--tls.certificate", "\(self.server.folder)/tls.pem", "--tls.key",
                "\(self.server.folder)/tls.key", "--ios.apps", "ABCDE12345.org.example.wallet",
            ]
        )
        #expect(run.exitCode == 77 && run.output.contains("does not run as root"), "\(run.output)")
        #expect(!DurableFile.exists(self.server.auditFile))
    }

    @Test("a limit of threads that is too low is named, and the start does not hang", .enabled(if: geteuid() == 0))
    func threads() async throws {
        // The limit counts all processes of a user, so no other test may run any of this one's.
        let line = "ulimit -u 3; exec setpriv --reuid=64002 --regid=64002 --clear-groups \"$@\""
        let program = Programs.path("remote-pin-server")
        let run = try await ServerProcess.run("/bin/bash", ["-c", line, "bash", program, "serve", self.server.folder])
        #expect(run.exitCode == 71 && run.output.contains("RLIMIT_NPROC"), "\(run.output)")
    }

    @Test("a clock more than a day off the newest time in the server's files is rejected, unless a setting allows it")
    func clock() async throws {
        // Before the first start an old installation is no sign of a wrong clock.
        let lock = "\(self.server.dataFolder)/lock"
        let files = ["\(self.server.dataFolder)/wallets.db", lock]
        func setAll(_ seconds: TimeInterval) throws {
            for file in files where DurableFile.exists(file) { try self.server.change(file, secondsFromNow: seconds) }
        }
        try setAll(-3 * Self.day)
        _ = try await self.server.serveOnce()

        for (seconds, problem) in [(3 * Self.day, "2d behind"), (Self.day / 2, nil)] {
            try setAll(seconds)
            let run = problem == nil ? nil : try await self.server.run("serve")
            #expect(run?.exitCode ?? 69 == 69 && run?.output.contains(problem ?? "") ?? true, "\(run?.output ?? "")")
            if problem == nil { _ = try await self.server.serveOnce() }
        }
        try setAll(3 * Self.day)
        _ = try await self.server.serveOnce("--clock.tolerance", "none")

        // The entry of the start is new; an old one stands for a server that stopped long ago.
        let entry = try String(contentsOfFile: self.server.auditFile, encoding: .utf8)
        let year = Calendar(identifier: .gregorian).component(.year, from: Date())
        let old = entry.replacingOccurrences(of: "\"time\":\"\(year)", with: "\"time\":\"\(year - 2)")
        #expect(old != entry)
        try old.write(toFile: self.server.auditFile, atomically: false, encoding: .utf8)
        try setAll(-9 * Self.day)
        let ahead = try await self.server.run("serve")
        #expect(ahead.exitCode == 69 && ahead.output.contains("9d ahead"), "\(ahead.output)")
        let ahead2 = try await self.server.run("serve", "--clock.tolerance", "8d")
        #expect(ahead2.exitCode == 69, "\(ahead2.output)")
        let right = entry.replacingOccurrences(of: "\"time\":\"\(year)", with: "\"time\":\"\(year + 2)")
        try right.write(toFile: self.server.auditFile, atomically: false, encoding: .utf8)
        let behind = try await self.server.run("serve")
        #expect(behind.exitCode == 69 && behind.output.contains("behind the newest entry"), "\(behind.output)")
        try entry.write(toFile: self.server.auditFile, atomically: false, encoding: .utf8)
        _ = try await self.server.serveOnce()
    }

    @Test("files and folders that every user can change are rejected with their mode and the command that fixes them")
    func writableForAll() async throws {
        _ = try await self.server.serveOnce()
        let folder = self.server.folder
        for (path, setting, mode) in [
            (self.server.dataFolder, "data.folder", 0o777),
            ("\(self.server.dataFolder)/wallets.db", "data.folder", 0o666),
            (self.server.auditFile, "audit.file", 0o662),
            ("\(folder)/server.yaml", "every user of this machine", 0o666),
            (folder, "vault.key-file", 0o777), (self.server.dataFolder, "data.folder", 0o1777),
        ] {
            let before = try DurableFile.mode(of: path)
            #expect(unsafe chmod(path, mode_t(mode)) == 0)
            for command in ["serve", "check-config"] {
                let run = try await self.server.run(command)
                #expect(run.exitCode == 78 && run.output.contains(setting), "\(path): \(run.output)")
                #expect(run.output.contains("chmod o-w \(path)"), "\(path): \(run.output)")
            }
            #expect(unsafe chmod(path, mode_t(before)) == 0)
        }
        // In a folder like /tmp no other user can rename the files; container platforms open volumes to the group.
        #expect(unsafe chmod(folder, 0o1777) == 0 && chmod(self.server.dataFolder, 0o770) == 0)
        _ = try await self.server.serveOnce()
    }

    @Test("a log file that holds other data of the server is rejected, also under another name, and is not changed")
    func logFile() async throws {
        _ = try await self.server.serveOnce()
        let link = "\(self.server.folder)/link.log"
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: self.server.auditFile)
        let (data, key) = (self.server.dataFolder, "\(self.server.folder)/vault.key")
        let mark = "\(self.server.auditFile).mark"
        let store = "\(data)/wallets.db"
        for path in [store, "\(store)-mark", self.server.auditFile, link, key, mark] {
            let before = try? Data(contentsOf: URL(fileURLWithPath: path))
            for command in ["serve", "check-config"] {
                let run = try await self.server.run(command, "--log.file", path)
                #expect(run.exitCode == 78 && run.output.contains("`log.file`: the server uses"), "\(run.output)")
            }
            let after = try? Data(contentsOf: URL(fileURLWithPath: path))
            #expect(after == before, "\(path)")
        }
    }

    @Test("the reason of a failed start is in the log's file too")
    func reasonInLog() async throws {
        let log = "\(self.server.folder)/server.log"
        let run = try await self.server.run("serve", "--log.file", log, "--data.folder", "\(self.server.folder)/none")
        #expect(run.exitCode == 74, "\(run.output)")
        let text = try String(contentsOfFile: log, encoding: .utf8)
        #expect(text.contains("critical not started") && text.contains("no store exists"), "\(text)")
    }

    @Test("wallets get only the file descriptors that operators, monitoring and the store do not need")
    func openFiles() async throws {
        let few = try await ServerProcess.run(
            "/bin/sh",
            [
                "-c", "ulimit -n 200; exec \"$0\" serve \"$1\"", Programs.path("remote-pin-server"),
                self.server.lab.lab.path,
            ]
        )
        #expect(few.exitCode == 78 && few.output.contains("LimitNOFILE"), "\(few.output)")
        let some = try await ServerProcess.start(
            [
                "-c",
                "ulimit -n 1500; exec \"$0\" serve \"$1\" --log.file none --portal.socket none "
                    + "--observation.listen 127.0.0.1:0",
                Programs.path("remote-pin-server"), self.server.lab.lab.path,
            ],
            of: "/bin/sh"
        )
        // 1500 less 64 for operators, 32 for monitoring and 256 for everything else.
        #expect(some.output.contains("connections=1148"), "\(some.output)")
        let port = try #require(some.output.firstMatch(of: /observed address=127.0.0.1:(\d+)/)?.1)
        let metrics = try await ServerProcess.run("/usr/bin/env", ["curl", "-s", "http://127.0.0.1:\(port)/metrics"])
        #expect(metrics.output.contains("remote_pin_limit{limit=\"connections\"} 1148"), "\(metrics.output)")
        #expect(await some.terminate() == 0)
    }
}

@Suite("Certificates that wallets reject")
struct CertificateFaultsTests {
    private let lab: LabUnderTest

    init() async throws {
        self.lab = try await LabUnderTest()
    }

    /// Writes a self-signed certificate for the lab's server with this validity, in days from now.
    private func writeCertificate(
        from start: Int,
        to end: Int,
        names: Bool = true,
        followedBy issuer: [UInt8] = []
    ) async throws {
        func day(_ offset: Int) -> String {
            let style = Date.VerbatimFormatStyle(
                format: "\(year: .padded(4))\(month: .twoDigits)\(day: .twoDigits)000000Z",
                timeZone: .gmt,
                calendar: Calendar(identifier: .gregorian)
            )
            return Date(timeIntervalSinceNow: Double(offset) * 86_400).formatted(style)
        }
        let folder = self.lab.folder
        try "subjectAltName=DNS:localhost\n".write(toFile: "\(folder)/san.cnf", atomically: true, encoding: .utf8)
        let script = """
            cd "$0" && : >index && echo 01 >serial && mkdir -p new
            printf '[ca]\\ndefault_ca=own\\n[own]\\ndatabase=index\\nserial=serial\\nnew_certs_dir=new\\n' >ca.cnf
            printf 'default_md=sha256\\npolicy=any\\n[any]\\ncommonName=supplied\\n' >>ca.cnf
            openssl req -new -key "$1" -subj /CN=localhost -out request.pem &&
            openssl ca -batch -config ca.cnf -selfsign -keyfile "$1" -in request.pem -out made.pem -notext \
                -startdate \(day(start)) -enddate \(day(end)) \(names ? "-extfile san.cnf" : "") 2>errors \
                || { cat errors; exit 1; }
            cp made.pem "$2"
            """
        let made = try await ServerProcess.run(
            "/bin/sh",
            ["-c", script, folder, self.lab.lab.certificateKeyFile, self.lab.lab.certificateFile]
        )
        try #require(made.exitCode == 0, "\(made.output)")
        guard !issuer.isEmpty else { return }
        let own = try DurableFile.read(self.lab.lab.certificateFile, atMost: 1 << 16)
        try DurableFile.write(own + issuer, to: self.lab.lab.certificateFile)
    }

    private func admin(_ arguments: String...) async throws -> ProgramRun {
        try await ServerProcess.run("remote-pin-server", ["admin"] + arguments + ["--lab", self.lab.lab.path])
    }

    @Test("a reload keeps the old certificate; a start and check-config only warn, since having no server is worse")
    func faults() async throws {
        let good = try DurableFile.read(self.lab.lab.certificateFile, atMost: 1 << 16)
        let server = try await self.lab.start()
        let wallet = try await self.lab.register(pin: "024791")
        for (start, end, names, issuer, word, isFatal) in [
            (-30, -1, true, [], "expired on", true), (2, 90, true, [], "is not valid before", true),
            (-1, 90, false, [], "no subject alternative name", true),
            // The certificate is its own issuer.
            (-1, 90, true, good, "was not issued by certificate 2 of the file", true),
            (-1, 10, true, [], "expires soon", false),
        ] {
            try await self.writeCertificate(from: start, to: end, names: names, followedBy: issuer)
            let check = try await ServerProcess.run("remote-pin-server", ["check-config", self.lab.lab.path])
            #expect(check.exitCode == 0 && check.output.contains("warning: `tls.certificate`"), "\(check.output)")
            #expect(check.output.contains(word) && check.output.contains("good, with warnings"), "\(check.output)")
            guard isFatal else { continue }
            let reload = try await self.admin("reload")
            #expect(reload.exitCode == 74 && reload.output.contains("the old one stays"), "\(reload.output)")
            #expect(reload.output.contains(word), "\(reload.output)")
            _ = try await wallet.openSession()
        }
        #expect(await server.terminate() == 0)
        let again = try await self.lab.start()
        #expect(
            again.output.contains("warning certificate") && again.output.contains("expires soon"),
            "\(again.output)"
        )
        try DurableFile.write(good, to: self.lab.lab.certificateFile)
        #expect(try await self.admin("reload").exitCode == 0)
        #expect(await again.terminate() == 0)
        let check = try await ServerProcess.run("remote-pin-server", ["check-config", self.lab.lab.path])
        #expect(
            !check.output.contains("warning: `tls") && check.output.contains("the configuration is good\n"),
            "\(check.output)"
        )
    }
}
