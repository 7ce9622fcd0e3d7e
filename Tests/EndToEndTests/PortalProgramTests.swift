import Foundation
import HostSystem
import LabFiles
import NIOCore
import NIOPosix
import TestSupport
import Testing

@Suite("The deletion portal, with the real programs")
struct PortalProgramTests {
    private let lab: LabUnderTest

    init() async throws {
        self.lab = try await LabUnderTest()
    }

    @Test("a user types the code of a lost phone; its app then shows that the wallet was deleted")
    func deletion() async throws {
        let server = try await self.lab.start(["REMOTE_PIN_LOG_LEVEL": "debug"])
        let phone = CommandLinePhone(in: self.lab)
        let setup = try await phone.run("setup", pins: ["135790"])
        let code = try #require(setup.output.firstMatch(of: /[0-9A-Z]{4}(-[0-9A-Z]{4}){3}-[0-9A-Z]{2}/)).output.0
        #expect(try await phone.run("unlock", "--code-written-down", pins: ["135790"]).exitCode == 0)

        // Started by the server's program, which executes the portal's.
        let portal = try await ServerProcess.start(["portal", self.lab.lab.path, "--log.level", "debug"])
        let page = try PageOverHTTP(portal.output)
        let question = try await page.post("code=\(code.lowercased())&step=check&seal=\(try await page.seal())")
        #expect(question.contains("Do you want to delete this wallet?"))
        #expect(try await phone.run("unlock", pins: ["135790"]).exitCode == 0, "nothing is deleted yet")
        let seal = PageOverHTTP.seal(of: question)
        let form = "code=\(code)&step=delete&seal=\(seal)"
        #expect(try await page.post(form).contains("Your NL Wallet was deleted"))
        #expect(try await page.post(form).contains("Your NL Wallet was deleted"))
        let after = try await phone.run("unlock", pins: ["135790"])
        #expect(after.exitCode == 13 && after.output.contains("\"UC1.2/4.1\""), "\(after.output)")

        #expect(await server.terminate() == 0)
        let away = try await page.post(form)
        #expect(away.contains("503 Service Unavailable") && away.contains("Nothing was deleted."))
        #expect(await portal.terminate() == 0)
        let log = try String(contentsOfFile: self.lab.lab.logFile, encoding: .utf8)
        for text in [log, server.output, portal.output] {
            #expect(!text.contains(code) && !text.contains(code.filter { $0 != "-" }))
        }
        #expect(portal.output.contains("wallet deleted") && portal.output.contains("127.0.0.1"))
    }

    @Test("the portal counts codes by outcome, and is ready while a server accepts its connections")
    func observed() async throws {
        let server = try await self.lab.start()
        let portal = try await ServerProcess.start(
            [self.lab.lab.path, "--portal.observation", "127.0.0.1:0", "--log.level", "info"],
            of: "remote-pin-portal"
        )
        let observed = try ObservedServer(portal)
        func becomes(_ word: String) async -> Bool {
            await eventually { (try? await observed.get("/readyz").contains(word)) ?? false }
        }
        #expect(await becomes("200 OK"))
        #expect(try await observed.value("remote_pin_portal_ready") == 1)
        #expect(try await observed.get("/livez").contains("200 OK"))
        let page = try PageOverHTTP(portal.output)
        let code = "0000-0000-0000-0000-00"
        let question = try await page.post("code=\(code)&step=check&seal=\(try await page.seal())")
        _ = try await page.post("code=\(code)&step=delete&seal=\(PageOverHTTP.seal(of: question))")
        #expect(try await observed.value("remote_pin_portal_codes_total{outcome=\"wrong\"}") == 1)
        #expect(try await observed.value("remote_pin_portal_codes_total{outcome=\"deleted\"}") == 0)
        // The page's address, which is public, has no metrics.
        #expect(try await page.get("/metrics").contains("404"))
        #expect(await server.terminate() == 0)
        #expect(await becomes("503"))
        #expect(try await observed.value("remote_pin_portal_ready") == 0)
        #expect(await portal.terminate() == 0)
        let busy = try await ServerProcess.run(
            "remote-pin-portal",
            [self.lab.lab.path, "--portal.observation", "192.0.2.1:80"]
        )
        #expect(busy.exitCode == 69 && busy.output.contains("`portal.observation`"), "\(busy.output)")
    }

    @Test(
        "a reason that keeps the portal from starting is named with the way out",
        arguments: [
            ([], 78, "--portal.socket PATH"),
            (["--portal.socket", "s", "--portal.listen", "nowhere"], 78, "HOST:PORT"),
            (["--portal.socket", "s", "--portal.time-zone", "Mars/Olympus"], 78, "Europe/Amsterdam or UTC"),
            (["--portal.socket", "s", "--portal.trusted-proxies", "10.0.0.1/8"], 78, "10.0.0.0/8"),
            (["--portal.socket", "s", "--portal.listn", "x"], 78, "did you mean `portal.listen`"),
            (["--portal.socket", "s", "--portal.listen", "192.0.2.1:80"], 69, "does not have that address"),
            (["--config", "/nowhere.yaml"], 74, "/nowhere.yaml: no such file"),
            (["/tmp", "--config", "x"], 64, "not both"),
        ] as [([String], Int32, String)]
    )
    func refused(arguments: [String], exitCode: Int32, wayOut: String) async throws {
        let run = try await ServerProcess.run("remote-pin-portal", arguments)
        #expect(run.exitCode == exitCode && run.output.contains(wayOut), "\(run.output)")
    }

    @Test(
        "a check reports every error, or that the configuration is good, and serves nothing",
        arguments: [
            (["--portal.socket", "s"], 0, "the configuration is good"),
            (["--portal.socket", "s"], 0, "/s is missing"),
            (["--portal.socket", "s", "--portal.product", "My App"], 0, "portal.product: My App (--portal.product)"),
            ([], 78, "--portal.socket PATH"),
            (["--portal.socket", "s", "--portal.time-zone", "Mars/Olympus"], 78, "`portal.time-zone`"),
            (["--portal.listen", "x", "--log.level", "loud"], 78, "`log.level` must be debug, info"),
            (["--portal.listen", "x", "--log.level", "loud"], 78, "`portal.listen`"),
        ] as [([String], Int32, String)]
    )
    func checked(arguments: [String], exitCode: Int32, word: String) async throws {
        for program in [("remote-pin-portal", []), ("remote-pin-server", ["portal"])] as [(String, [String])] {
            let run = try await ServerProcess.run(program.0, program.1 + ["--check"] + arguments)
            #expect(run.exitCode == exitCode && run.output.contains(word), "\(run.output)")
            #expect(!run.output.contains("ready on"))
        }
    }

    @Test("a group that does not exist and the admin socket's path keep the server from starting")
    func socket() async throws {
        await #expect(throws: ServerProcess.NotReady.self) {
            try await self.lab.start(["REMOTE_PIN_PORTAL_GROUP": "no-such-group"])
        }
        let settings = try String(contentsOfFile: self.lab.lab.configurationFile, encoding: .utf8)
        let admin = try #require(settings.firstMatch(of: /'([^']*admin.sock)'/)).output.1
        await #expect(throws: ServerProcess.NotReady.self) {
            try await self.lab.start(["REMOTE_PIN_PORTAL_SOCKET": String(admin)])
        }
        let none = try await self.lab.start(["REMOTE_PIN_PORTAL_SOCKET": "none"])
        #expect(!FileManager.default.fileExists(atPath: "\(self.lab.lab.serverFolder)/portal.sock"))
        #expect(await none.terminate() == 0)
        let group = "\(getgid())"
        let shared = try await self.lab.start(["REMOTE_PIN_PORTAL_GROUP": group])
        let path = admin.replacing("admin.sock", with: "portal.sock")
        #expect(try DurableFile.mode(of: String(path)) == 0o660)
        #expect(await shared.terminate() == 0)
        #expect(!FileManager.default.fileExists(atPath: String(path)))
    }

    @Test("the portal's help has examples, also as a command of the server's program")
    func help() async throws {
        for arguments in [("remote-pin-portal", ["--help"]), ("remote-pin-server", ["portal", "--help"])] {
            let help = try await ServerProcess.run(arguments.0, arguments.1)
            #expect(help.exitCode == 0 && help.output.contains("remote-pin-portal --portal.socket"), "\(help.output)")
            #expect(help.output.contains("--portal.trusted-proxies") && !help.output.contains("--pin.rounds"))
        }
    }
}

/// The page, fetched over a separate connection for each request.
private struct PageOverHTTP {
    let port: Int

    init(_ output: String) throws {
        let ready = try #require(output.firstMatch(of: /ready on http:\/\/127\.0\.0\.1:([0-9]+)/))
        self.port = try Int(ready.output.1).orThrow()
    }

    func seal() async throws -> String { Self.seal(of: try await self.send("GET /en", "")) }

    func get(_ path: String) async throws -> String { try await self.send("GET \(path)", "") }

    func post(_ form: String) async throws -> String {
        try await self.send("POST /en", form)
    }

    /// The seal in the page's form, as a browser sends it.
    static func seal(of page: String) -> String {
        let main = page.components(separatedBy: "<main>").last ?? ""
        let field = main.components(separatedBy: "name=\"seal\" value=\"").last ?? ""
        let seal = field.components(separatedBy: "\"")[0]
        return seal.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
    }

    private func send(_ line: String, _ body: String) async throws -> String {
        let channel = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .connect(host: "127.0.0.1", port: self.port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
                }
            }
        let head =
            "\(line) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: \(body.utf8.count)\r\n"
            + "Content-Type: application/x-www-form-urlencoded\r\n\r\n"
        return try await channel.executeThenClose { inbound, outbound in
            try await outbound.write(ByteBuffer(string: head + body))
            var bytes: [UInt8] = []
            for try await part in inbound { bytes += Array(buffer: part) }
            return String(decoding: bytes, as: UTF8.self)
        }
    }
}
