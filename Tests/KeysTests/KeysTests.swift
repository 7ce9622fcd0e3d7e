import Foundation
import TestSupport
import Testing

@Suite("The keys of a token")
struct KeysTests {
    @Test("a key gives the same codes after a restart, and no other key gives them")
    func codes() async throws {
        let token = try await SoftToken()
        try await token.make("index", "key-1", "history-1")
        let daemon = try await token.serve()
        let first = try await token.ask("mac key-1 00ff")
        #expect(first.wholeMatch(of: /ok [0-9a-f]{64}/) != nil, "\(first)")
        #expect(try await token.ask("mac key-1 00FF") == first)
        #expect(try await token.ask("mac key-1 00fe") != first)
        #expect(try await token.ask("mac history-1 00ff") != first)
        #expect(try await token.ask("mac key-1 \(String(repeating: "ab", count: 128))").hasPrefix("ok "))
        #expect(await daemon.terminate() == 0)
        let again = try await token.serve()
        #expect(try await token.ask("mac key-1 00ff") == first)
        #expect(await again.terminate() == 0)
    }

    @Test("the check digits of a list are the first bytes of the code that the server compares")
    func checkDigits() async throws {
        let token = try await SoftToken()
        try await token.make("key-1")
        let list = try await token.run(["list"])
        let daemon = try await token.serve()
        let info = Array("remote-pin/1 vault check\u{1}".utf8).map { String(format: "%02x", $0) }.joined()
        let code = try await token.ask("mac key-1 \(info)")
        #expect(list.output == "key-1 \(code.dropFirst(3).prefix(8))\n")
        #expect(await daemon.terminate() == 0)
    }

    @Test(
        "a line that is no request is answered so, and costs the module nothing",
        arguments: [
            "", "mac", "mac key-1", "mac key-1 ", "mac key-1 0", "mac key-1 0g", "mac key-1 00 ", " mac key-1 00",
            "mac key-01 00", "mac key-0 00", "mac key-4294967296 00", "mac keys 00", "mac pin 00", "MAC key-1 00",
            "list", "mac key-1 \(String(repeating: "00", count: 129))",
        ]
    )
    func malformed(line: String) async throws {
        let token = try await SoftToken()
        try await token.make("key-1")
        let daemon = try await token.serve()
        let before = token.count("C_SignInit")
        #expect(try await token.ask(line) == "failed request")
        #expect(token.count("C_SignInit") == before)
        #expect(await daemon.terminate() == 0)
    }

    @Test(
        "a connection that sends more than one line before the answer, or a long one, gets no answer",
        arguments: ["mac key-1 00\nmac key-1 01", String(repeating: "0", count: 300)]
    )
    func closed(line: String) async throws {
        let token = try await SoftToken()
        try await token.make("key-1")
        let daemon = try await token.serve()
        #expect(try await token.ask(line).isEmpty)
        #expect(try await token.ask(SoftToken.request).hasPrefix("ok "))
        #expect(await daemon.terminate() == 0)
    }

    @Test("a label without a key is unknown, and a key that is made meanwhile is found")
    func laterKey() async throws {
        let token = try await SoftToken()
        try await token.make("key-1")
        let daemon = try await token.serve()
        #expect(try await token.ask("mac key-2 00") == "unknown")
        try await token.make("key-2")
        #expect(try await token.ask("mac key-2 00").hasPrefix("ok "))
        #expect(await daemon.terminate() == 0)
    }

    @Test("requests above the limit and its burst are told to wait, also for keys that do not exist")
    func limit() async throws {
        let token = try await SoftToken()
        try await token.make("key-1")
        let daemon = try await token.serve(["--limit", "1", "--observation", "127.0.0.1:0"])
        let start = ContinuousClock.now
        var counts: [String: Double] = [:]
        for number in 0..<1000 where counts["busy"] == nil {
            let answer = try await token.ask(number.isMultiple(of: 2) ? SoftToken.request : "mac key-9 00")
            counts[String(answer.prefix { $0 != " " }), default: 0] += 1
            guard answer.hasPrefix("busy ") else { continue }
            #expect(Int(answer.dropFirst(5)).map { (1...1000).contains($0) } == true, "\(answer)")
        }
        // The burst is 10, and each second adds one.
        let allowed = 11 + start.duration(to: .now) / .seconds(1)
        #expect(
            counts["busy"] == 1 && (10...allowed).contains(counts["ok", default: 0] + counts["unknown", default: 0])
        )
        let observed = try ObservedServer(daemon)
        for outcome in ["ok", "unknown", "busy"] {
            #expect(try await observed.value("remote_pin_keys_total{outcome=\"\(outcome)\"}") == counts[outcome])
        }
        #expect(try await observed.value("remote_pin_keys_limit") == 1)
        #expect(try await observed.get("/readyz").contains("200 OK"))
        #expect(await daemon.terminate() == 0)
    }

    @Test("a client that waits as long as the answer says is served")
    func wait() async throws {
        let token = try await SoftToken()
        try await token.make("key-1")
        // A code is restored in 66,666 µs, so most waits are no whole number of milliseconds.
        let daemon = try await token.serve(["--limit", "15"])
        // A blocking client asks within less than a millisecond after its wait.
        let client = """
            import socket, sys, time
            client = socket.socket(socket.AF_UNIX)
            client.connect(sys.argv[1])
            lines = client.makefile()
            def ask():
                client.sendall(b"\(SoftToken.request)\\n")
                return lines.readline()
            for _ in range(20):
                while not (busy := ask()).startswith("busy "): pass
                time.sleep(int(busy[5:]) / 1000)
                if not (answer := ask()).startswith("ok "): sys.exit(f"{answer} after {busy}")
            """
        let run = try await ServerProcess.run("/usr/bin/python3", ["-c", client, token.socket])
        #expect(run.exitCode == 0, "\(run.output)")
        #expect(await daemon.terminate() == 0)
    }

    @Test("only the owner can open the socket, or also the members of a group")
    func rights() async throws {
        let token = try await SoftToken()
        for (options, mode) in [([String](), 0o600), (["--group", "\(getgid())"], 0o660)] {
            let daemon = try await token.serve(options)
            let attributes = try FileManager.default.attributesOfItem(atPath: token.socket)
            #expect(attributes[.posixPermissions] as? Int == mode)
            #expect(await daemon.terminate() == 0)
            #expect(!FileManager.default.fileExists(atPath: token.socket))
        }
    }

    @Test("two daemons that start at once serve the same keys")
    func two() async throws {
        let token = try await SoftToken()
        try await token.make("key-1")
        async let one = token.serve()
        async let other = token.serve(socket: token.folder.file("other.sock"))
        let daemons = try await [one, other]
        #expect(try await token.ask(SoftToken.request).hasPrefix("ok "))
        for daemon in daemons { #expect(await daemon.terminate() == 0) }
    }

    @Test("a second daemon does not take the socket of the first one")
    func occupied() async throws {
        let token = try await SoftToken()
        let daemon = try await token.serve()
        let run = try await token.run(["serve", "--socket", token.socket])
        #expect(run.exitCode == 69 && run.output.contains("another process"), "\(run.output)")
        #expect(await daemon.terminate() == 0)
    }

    @Test("a stop ends the use of the module, after which no handler of the module runs")
    func stop() async throws {
        let token = try await SoftToken()
        let daemon = try await token.serve()
        let before = token.count("C_Finalize")
        #expect(await daemon.terminate() == 0)
        #expect(token.count("C_Finalize") == before + 1)
    }

    @Test("of two tokens with one label, the serial number selects one")
    func serial() async throws {
        let token = try await SoftToken()
        try await token.makeToken("remote-pin")
        let run = try await token.run(["list"])
        #expect(run.exitCode == 78 && run.output.contains("--serial"), "\(run.output)")
        let serial = try #require(run.output.firstMatch(of: /--serial: ([0-9a-f]+)/)).output.1
        #expect(try await token.run(["make", "key-1", "--serial", String(serial)]).exitCode == 0)
        #expect(try await token.run(["list", "--serial", String(serial)]).output.hasPrefix("key-1 "))
    }

    @Test("a slot that fails hides its own token only, and is named if the wanted token is missing")
    func slots() async throws {
        let token = try await SoftToken()
        try await token.make("key-1")
        // SoftHSM has a second slot, with a token that is not initialized.
        var runs: [ProgramRun] = []
        for slot in [1, 2] { runs.append(try await token.run(["list"], plan: "C_GetTokenInfo \(slot) 0xe1")) }
        runs.sort { $0.exitCode < $1.exitCode }
        #expect(runs[0].exitCode == 0 && runs[0].output.hasPrefix("key-1 "), "\(runs[0].output)")
        #expect(runs[1].exitCode == 69 && runs[1].output.contains("C_GetTokenInfo returned"), "\(runs[1].output)")
    }

    @Test("a token without HMAC-SHA256 is rejected, and check names the keys' state and the time of a code")
    func check() async throws {
        let token = try await SoftToken()
        try await token.make("index", "key-1")
        let run = try await token.run(["check"])
        #expect(run.exitCode == 0 && run.output.contains("one code takes"), "\(run.output)")
        #expect(run.output.matches(of: /remote-pin-\S+ +sound +HMAC-SHA256 only +token/).count == 2, "\(run.output)")
        let without = try await token.run(["check"], plan: "C_GetMechanismInfo 1 0x70")
        #expect(without.exitCode == 78 && without.output.contains("HMAC"), "\(without.output)")
    }

    @Test("a token that knows no limit to one mechanism gets keys without it, which check reports")
    func withoutLimit() async throws {
        let token = try await SoftToken()
        let made = try await token.run(["make", "key-1"], plan: "C_GenerateKey 1 0x12; C_GetAttributeValue 2 0x12")
        #expect(made.exitCode == 0 && made.output.contains("does not limit"), "\(made.output)")
        let run = try await token.run(["check"])
        #expect(run.exitCode == 0 && run.output.contains("none"), "\(run.output)")
    }
}
