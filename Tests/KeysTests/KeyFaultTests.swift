import Foundation
import TestSupport
import Testing

@Suite("Faults of a module and its keys")
struct KeyFaultTests {
    @Test(
        "a lost session, login or handle is renewed, and the request repeated once",
        arguments: [0xB3, 0xB0, 0x101, 0x60, 0x82]
    )
    func renewed(code: Int) async throws {
        let token = try await SoftToken()
        try await token.make("key-1")
        let logins = token.count("C_Login")
        // Each opening and the first use compute the key's check digits before the code.
        let daemon = try await token.serve(plan: "C_Sign 2 \(code); C_Sign 5 \(code); C_Sign 7 \(code)")
        #expect(try await token.ask(SoftToken.request).hasPrefix("ok "))
        #expect(token.count("C_Login") == logins + 2)
        // The repetition fails too, so there is no further one.
        #expect(try await token.ask(SoftToken.request) == "failed module")
        #expect(token.count("C_Login") == logins + 3)
        try await token.recovers()
        #expect(await daemon.terminate() == 0)
    }

    @Test(
        "a module that does not work is not called before the delay is over, and then initialized again",
        arguments: [0x30, 0x32, 0xE0, 0xE1, 0x5, 0x6, 0x190, 0x8000_0001]
    )
    func later(code: Int) async throws {
        let token = try await SoftToken()
        try await token.make("key-1")
        let (signs, begun) = (token.count("C_SignInit"), token.count("C_Initialize"))
        let daemon = try await token.serve(plan: "C_SignInit 1 \(code)")
        let start = ContinuousClock.now
        #expect(try await token.ask(SoftToken.request) == "failed module")
        for _ in 0..<10 {
            let answer = try await token.ask(SoftToken.request)
            // The delay of a second begins after this start.
            guard start.duration(to: .now) < .seconds(1) else { break }
            #expect(answer == "failed module")
            #expect(token.count("C_SignInit") == signs + 1)
        }
        try await token.recovers()
        #expect(token.count("C_Initialize") == begun + 2)
        #expect(await daemon.terminate() == 0)
    }

    @Test("the delay between attempts doubles, and a code that succeeds resets it")
    func delays() async throws {
        let token = try await SoftToken()
        try await token.make("key-1")
        let daemon = try await token.serve(["--sessions", "1"], plan: "C_SignInit 1 0x30; C_OpenSession 2-3 0xe0")
        try await token.recovers()
        let log = daemon.output
        for delay in ["1", "2", "4"] { #expect(log.contains("next=\"\(delay) s\""), "\(log)") }
        #expect(await daemon.terminate() == 0)
    }

    @Test(
        "a token that is away at the start is awaited",
        arguments: ["C_Initialize 1 0x5", "C_GetSlotList 1 0xe1", "C_OpenSession 1 0xb1", "C_FindObjects 1 0x30"]
    )
    func start(plan: String) async throws {
        let token = try await SoftToken()
        try await token.make("key-1")
        let daemon = try await token.serve(plan: plan)
        #expect(try await token.ask(SoftToken.request).hasPrefix("ok "))
        #expect(daemon.output.contains("the token cannot be used"))
        #expect(await daemon.terminate() == 0)
    }

    @Test("a token whose directory was away serves again without a restart")
    func directory() async throws {
        let token = try await SoftToken()
        try await token.make("key-1")
        let daemon = try await token.serve()
        let before = try await token.ask(SoftToken.request)
        let away = token.folder.file("away")
        try FileManager.default.moveItem(atPath: token.tokens, toPath: away)
        try await poll { try await token.ask(SoftToken.request) == "failed module" }
        try FileManager.default.moveItem(atPath: away, toPath: token.tokens)
        try await token.recovers()
        #expect(try await token.ask(SoftToken.request) == before)
        #expect(await daemon.terminate() == 0)
    }

    @Test("a rejected PIN is tried once: at the start, and when the login is lost", arguments: [0xA0, 0xA3, 0xA4])
    func pin(code: Int) async throws {
        let token = try await SoftToken()
        try await token.make("key-1")
        var logins = token.count("C_Login")
        let run = try await token.run(["serve", "--socket", token.socket], plan: "C_Login 1- \(code)")
        #expect(run.exitCode == 78 && run.output.contains("no further attempt"), "\(run.output)")
        #expect(token.count("C_Login") == logins + 1)
        logins += 1
        let daemon = try await token.serve(["--sessions", "8"], plan: "C_Sign 1- 0x101; C_Login 2- \(code)")
        async let answers = [token.ask(SoftToken.request), token.ask(SoftToken.request), token.ask(SoftToken.request)]
        #expect(try await SoftToken.status(of: daemon) == 78)
        #expect(token.count("C_Login") == logins + 2)
        _ = try? await answers
    }

    @Test("a wrong PIN in the file is tried once, and SIGHUP reads the file again")
    func wrongPIN() async throws {
        let token = try await SoftToken()
        try await token.make("key-1")
        let daemon = try await token.serve()
        daemon.send(SIGHUP)
        try await token.recovers()
        let logins = token.count("C_Login")
        try token.setPIN("000000")
        daemon.send(SIGHUP)
        #expect(try await SoftToken.status(of: daemon) == 78)
        #expect(token.count("C_Login") == logins + 1)
        let run = try await token.run(["list"])
        #expect(run.exitCode == 78 && run.output.contains("CKR_PIN_INCORRECT"), "\(run.output)")
        #expect(token.count("C_Login") == logins + 2)
    }

    @Test("a PIN file that others can read is rejected before an attempt", arguments: [0o640, 0o604])
    func pinRights(mode: Int) async throws {
        let token = try await SoftToken()
        try token.setPIN(SoftToken.pin, mode: mode)
        let run = try await token.run(["list"])
        #expect(run.exitCode == 78 && run.output.contains("chmod 600"), "\(run.output)")
        #expect(token.count("C_Login") == 0)
    }

    @Test("a token with fewer sessions serves all requests with those that it allows")
    func sessions() async throws {
        let token = try await SoftToken()
        try await token.make("key-1")
        let daemon = try await token.serve(plan: "C_OpenSession 2- 0xb1; C_Sign 1- latency 5")
        #expect(daemon.output.contains("fewer sessions"))
        let answers = try await Self.ask(token, times: 8)
        #expect(answers.count == 1 && answers.allSatisfy { $0.hasPrefix("ok ") }, "\(answers)")
        #expect(await daemon.terminate() == 0)
    }

    @Test("a reload initializes the module again when no thread is inside it, and no request fails")
    func reload() async throws {
        let token = try await SoftToken()
        try await token.make("key-1")
        let daemon = try await token.serve(plan: "C_Sign 1- latency 100")
        let (begun, signs) = (token.count("C_Initialize"), token.count("C_Sign"))
        async let asked = Self.ask(token, times: 8)
        try await poll { token.count("C_Sign") > signs }
        daemon.send(SIGHUP)
        let answers = try await asked
        #expect(answers.count == 1 && answers.allSatisfy { $0.hasPrefix("ok ") }, "\(answers)")
        try await poll { token.count("C_Initialize") == begun + 1 }
        #expect(await daemon.terminate() == 0)
    }

    /// Sends requests at once, each on its own connection; returns the answers.
    private static func ask(_ token: SoftToken, times count: Int) async throws -> Set<String> {
        try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<count { group.addTask { try await token.ask(SoftToken.request) } }
            return try await group.reduce(into: []) { $0.insert($1) }
        }
    }

    @Test("no code of another token with the same labels is answered", arguments: [true, false])
    func otherToken(isReloaded: Bool) async throws {
        let (token, other) = (try await SoftToken(), try await SoftToken())
        for each in [token, other] { try await each.make("key-1") }
        let daemon = try await token.serve()
        let client = try await RawClient(unixSocket: token.socket)
        defer { client.close() }
        let code = await Self.ask(client)
        let away = token.folder.file("away")
        try FileManager.default.moveItem(atPath: token.tokens, toPath: away)
        try FileManager.default.moveItem(atPath: other.tokens, toPath: token.tokens)
        if isReloaded {
            daemon.send(SIGHUP)
            // The reload ends it, without a request.
            try await poll { !isRunning(daemon.processID) }
        }
        try await Self.expectEnd(of: daemon, client, after: code)
        try FileManager.default.removeItem(atPath: token.tokens)
        try FileManager.default.moveItem(atPath: away, toPath: token.tokens)
        let again = try await token.serve()
        #expect(try await token.ask(SoftToken.request) == code)
        #expect(await again.terminate() == 0)
    }

    @Test("no code of a key that was made again under its label is answered", arguments: [true, false])
    func madeAgain(isAskedMeanwhile: Bool) async throws {
        let token = try await SoftToken()
        try await token.make("key-1")
        let daemon = try await token.serve()
        let client = try await RawClient(unixSocket: token.socket)
        defer { client.close() }
        let code = await Self.ask(client)
        try token.deleteKeys()
        if isAskedMeanwhile { #expect(await Self.ask(client) == "unknown") }
        try await token.make("key-1")
        try await Self.expectEnd(of: daemon, client, after: code)
    }

    /// Sends a request on an open connection; returns the answer, or an empty text if the connection has ended.
    private static func ask(_ client: RawClient) async -> String {
        await client.send("\(SoftToken.request)\n")
        return String(await client.receive(until: "\n").prefix { $0 != "\n" })
    }

    /// Expects that a daemon ends, and that no code but this one is answered until then.
    private static func expectEnd(of daemon: ServerProcess, _ client: RawClient, after code: String) async throws {
        #expect(code.hasPrefix("ok "))
        var answer: String
        repeat { answer = await Self.ask(client) } while answer == code || answer == "failed module"
        try #require(answer.isEmpty, "\(answer)")
        #expect(try await SoftToken.status(of: daemon) == 78)
        #expect(daemon.output.contains("other check digits"), "\(daemon.output)")
    }

    @Test("a PIN file that cannot be read does not end a daemon that serves: a reload keeps the open token")
    func unreadablePIN() async throws {
        let token = try await SoftToken()
        try await token.make("key-1")
        let daemon = try await token.serve()
        let logins = token.count("C_Login")
        try token.setPIN(SoftToken.pin, mode: 0o644)
        daemon.send(SIGHUP)
        try await poll { daemon.output.contains("chmod 600") }
        #expect(try await token.ask(SoftToken.request).hasPrefix("ok "))
        #expect(token.count("C_Login") == logins)
        try token.setPIN(SoftToken.pin)
        daemon.send(SIGHUP)
        try await poll { token.count("C_Login") == logins + 1 }
        try await token.recovers()
        #expect(await daemon.terminate() == 0)
    }

    @Test("a lost login is renewed once the PIN file can be read again")
    func missingPIN() async throws {
        let token = try await SoftToken()
        try await token.make("key-1")
        let daemon = try await token.serve(plan: "C_Sign 1 0x101")
        try FileManager.default.removeItem(atPath: token.folder.file("pin"))
        #expect(try await token.ask(SoftToken.request) == "failed module")
        try token.setPIN(SoftToken.pin)
        try await token.recovers()
        #expect(await daemon.terminate() == 0)
    }

    @Test("a second token with the same label does not end a daemon that serves the first one")
    func secondToken() async throws {
        let token = try await SoftToken()
        try await token.make("key-1")
        let daemon = try await token.serve()
        let code = try await token.ask(SoftToken.request)
        try await token.makeToken("remote-pin")
        let begun = token.count("C_Initialize")
        daemon.send(SIGHUP)
        try await poll { token.count("C_Initialize") == begun + 1 }
        #expect(try await token.ask(SoftToken.request) == code)
        #expect(await daemon.terminate() == 0)
    }

    @Test("a call that does not return ends the process, which its service manager starts again")
    func hang() async throws {
        let token = try await SoftToken()
        try await token.make("key-1")
        let daemon = try await token.serve(plan: "C_Sign 1 hang")
        async let answer = token.ask(SoftToken.request)
        #expect(try await SoftToken.status(of: daemon) == 69)
        #expect(try await answer.isEmpty)
    }

    @Test(
        "a key that could leave the token, is short or has another use is neither made nor served",
        arguments: [
            ("0x162 01", "CKA_EXTRACTABLE"), ("0x161 1000000000000000", "CKA_VALUE_LEN"), ("0x103 00", "CKA_SENSITIVE"),
            ("0x2 00", "CKA_PRIVATE"), ("0x10c 01", "CKA_DERIVE"), ("0x104 01", "CKA_ENCRYPT"),
            ("0x40000600 5002000000000000", "CKA_ALLOWED_MECHANISMS"),
        ]
    )
    func unsound(attribute: String, name: String) async throws {
        let token = try await SoftToken()
        let run = try await token.run(["make", "key-1"], plan: "C_GenerateKey 1 set \(attribute)")
        #expect(run.exitCode == 78 && run.output.contains(name), "\(run.output)")
        let served = try await token.run(["serve", "--socket", token.socket])
        #expect(served.exitCode == 78 && served.output.contains(name), "\(served.output)")
    }

    @Test("of two keys with one label none is used")
    func duplicate() async throws {
        let token = try await SoftToken()
        try await token.make("key-1")
        let again = try await token.run(["make", "key-1"])
        #expect(again.exitCode == 74 && again.output.contains("already"), "\(again.output)")
        let daemon = try await token.serve()
        #expect(try await token.ask(SoftToken.request).hasPrefix("ok "))
        // The new key gets the label of the other one: remote-pin-key-1.
        let label = "72656d6f74652d70696e2d6b65792d31"
        _ = try await token.run(["make", "key-2"], plan: "C_GenerateKey 1 set 0x3 \(label)")
        daemon.send(SIGHUP)
        try await poll { try await token.ask(SoftToken.request) == "failed key" }
        #expect(await daemon.terminate() == 0)
        let run = try await token.run(["serve", "--socket", token.socket])
        #expect(run.exitCode == 78 && run.output.contains("2 keys have the label"), "\(run.output)")
    }
}
