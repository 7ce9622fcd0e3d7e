import Administration
import AdminProtocol
import AuditLog
import RemotePINServer
import ServerTestSupport
import TestSupport
import Testing
import Transport
import Vocabulary
import WalletStore

/// The reply to a request, as a client reads it.
private struct AnyReply: Decodable {
    let id: UInt64
    let failure: AdminFailure?
}

extension InProcessServer {
    fileprivate func answer(_ frame: [UInt8]) async throws -> (reply: AnyReply, isUse: Bool) {
        let answer = await self.commands.answer(frame, from: Self.peer)
        #expect(answer.frame.count <= LocalListener.longestAnswer)
        return (try AdminCoding.decode(AnyReply.self, from: answer.frame), answer.isUse)
    }
}

@Suite("Requests of operators")
struct AdminRequestTests {
    private static let seed = UInt64.random(in: .min ... .max)
    private static let id = "3f9c01a23f9c01a23f9c01a23f9c01a2"
    private static let mac = String(repeating: "5b", count: 32)

    private static func ids(_ count: Int) -> String {
        "[" + AdminSamples.ids(count).map { "\"\($0)\"" }.joined(separator: ",") + "]"
    }

    private static func rules(_ rule: String, count: Int = 1) -> [UInt8] {
        let rules = Array(repeating: rule, count: count).joined(separator: ",")
        return request("update-policy set", #"{"platforms":["android"],"rules":[\#(rules)]}"#)
    }

    private static func flag(_ rollout: String) -> [UInt8] {
        request("flags set", #"{"flag":"safe-biometric-unlock","rollout":\#(rollout)}"#)
    }

    @Test("a value of the wrong type or outside its range is malformed: nothing is done, and there is no audit entry")
    func malformed() async throws {
        let requests: [[UInt8]] = [
            request("wallet show", "{}"), request("wallet show", #"{"wallet":"3f9c"}"#),
            request("wallet show", #"{"wallet":7}"#), request("wallet show", #"{"wallet":null}"#),
            request("wallet show", #"{"wallet":"\#(Self.id.dropLast())g"}"#), request("wallet show", "[]"),
            request("revoke wallet", #"{"wallets":[]}"#), request("revoke wallet", #"{"wallets":["12"]}"#),
            request("revoke wallet", #"{"wallets":["\#(Self.id)","\#(Self.id)"]}"#),
            request("revoke wallet", #"{"wallets":\#(Self.ids(1001))}"#),
            request("revoke recovery-code", #"{"code":""}"#), request("revoke recovery-code", #"{"code":"zz"}"#),
            request("revoke recovery-code", #"{"code":"6120"}"#), request("deny-list show", #"{"code":"c3a9"}"#),
            request("revoke recovery-code", #"{"code":"\#(String(repeating: "61", count: 129))"}"#),
            request("deny-list list", #"{"limit":0}"#), request("deny-list list", #"{"limit":501}"#),
            request("deny-list list", #"{"after":"5b","limit":1}"#), request("deny-list show", "{}"),
            request("deny-list show", #"{"mac":"5b"}"#), request("deny-list remove", #"{"code":"5"}"#),
            request("flags set", #"{"flag":"other","rollout":{"state":"on"}}"#),
            request("flags set", #"{"flag":"safe-biometric-unlock"}"#), Self.flag(#"{"state":"maybe"}"#),
            Self.flag(#"{"state":"percent","percentage":101}"#), Self.flag(#"{"state":"percent","percentage":-1}"#),
            Self.flag(#"{"state":"percent"}"#), Self.flag(#"{"state":"list","wallets":[]}"#),
            Self.flag(#"{"state":"list","wallets":["\#(Self.id)","\#(Self.id)"]}"#),
            Self.flag(#"{"state":"list","wallets":\#(Self.ids(1001))}"#),
            request("update-policy set", #"{"platforms":[],"rules":[]}"#),
            request("update-policy set", #"{"platforms":["palm"],"rules":[]}"#),
            request("update-policy clear", #"{"platforms":[]}"#), request("update-policy clear", "{}"),
            Self.rules(#"{"word":"ok"}"#, count: 65), Self.rules(#"{"from":"1.x","word":"ok"}"#),
            Self.rules(#"{"from":"2","below":"2.0","word":"ok"}"#), Self.rules(#"{"below":"0","word":"ok"}"#),
            Self.rules(#"{"word":"warn"}"#), Self.rules(#"{"word":"warn","until":"soon"}"#),
            Self.rules(#"{"word":"warn","until":1700000000123}"#), Self.rules(#"{"word":"perhaps"}"#), Self.rules("{}"),
            request("wallet list", "{}"), request("wallet list", #"{"states":[],"limit":201}"#),
            request("wallet list", #"{"states":["asleep"],"limit":1}"#),
            request("wallet list", #"{"states":[],"limit":1,"platform":"palm"}"#),
            request("wallet list", #"{"states":[],"limit":1,"registeredFrom":"soon"}"#),
            request("wallet list", #"{"states":[],"limit":1,"after":-1}"#),
            request("sessions", #"{"limit":201}"#), request("sessions", #"{"limit":1.5}"#),
            request("log-level", #"{"level":"loud"}"#), request("backup", "{}"),
            request("backup", #"{"path":"not/absolute"}"#), request("backup", #"{"path":"/"}"#),
            request("backup", #"{"path":"/\#(String(repeating: "b", count: 4000))"}"#),
            request("clock advance", #"{"byMs":0}"#), request("clock advance", #"{"byMs":9223372036854775807}"#),
            request("clock advance", #"{"byMs":"61s"}"#),
        ]
        try await InProcessServer.run { server in
            let before = try await server.record().count
            for frame in requests {
                let (reply, isUse) = try await server.answer(frame)
                #expect(reply.id == 7 && reply.failure?.kind == .malformed, "\(String(decoding: frame, as: UTF8.self))")
                #expect(!isUse && reply.failure?.message.isEmpty == false)
            }
            #expect(try await server.record().count == before)
            #expect(try await !server.store.isSolutionRevoked())
        }
    }

    @Test("bytes that are not a request are malformed, without an id and without an audit entry")
    func notRequests() async throws {
        let deep = String(repeating: "[", count: 20_000)
        let frames: [[UInt8]] = [
            [0], [0xFF, 0xFE], Array("{".utf8), Array("null".utf8), Array("[]".utf8), Array("{}".utf8),
            Array(#"{"id":1,"command":"status"}"#.utf8), Array(#"{"version":1,"id":-1,"command":"status"}"#.utf8),
            Array(#"{"version":1,"id":1,"command":7}"#.utf8), Array(deep.utf8),
            Array(String(repeating: "{\"a\":", count: 10_000).utf8),
        ]
        try await InProcessServer.run { server in
            let before = try await server.record().count
            for frame in frames {
                let (reply, isUse) = try await server.answer(frame)
                #expect(reply.id == 0 && reply.failure?.kind == .malformed && !isUse)
            }
            #expect(try await server.record().count == before)
            // Deep arguments of a command that exists.
            let nested = request("status", String(repeating: "{\"a\":", count: 10_000))
            #expect(try await server.answer(nested).reply.failure?.kind == .malformed)
            // The decoder accepts this depth, but takes seconds for it.
            let depth = 500
            let arrays = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
            let costly = try await server.answer(request("status", #"{"later":\#(arrays)}"#)).reply
            #expect(costly.id == 7 && costly.failure?.kind == .malformed)
        }
    }

    @Test("an unknown command, version or member is rejected as a whole, and the attempt is in the audit log")
    func unknown() async throws {
        let rule = #"{"word":"ok","later":1}"#
        let frames: [[UInt8]] = [
            request("wallet destroy", "{}"), request("", "{}"), request("status", "{}", version: 2),
            request("status", "{}", version: 0), request("unknown", "{}"), request("revoke solution", #"{"later":1}"#),
            request("restore solution", #"{"later":{}}"#), request("reload", #"{"later":[]}"#),
            request("revoke wallet", #"{"wallets":["\#(Self.id)"],"later":true}"#),
            request("deny-list remove", #"{"mac":"\#(Self.mac)","code":"61"}"#),
            request("log-level", #"{"level":"debug","until":"2026-12-24"}"#),
            request("wallet list", #"{"states":[],"limit":1,"later":1}"#), Self.flag(#"{"state":"on","percentage":5}"#),
            Self.flag(#"{"state":"off","wallets":["\#(Self.id)"]}"#), Self.rules(rule),
            Self.rules(#"{"word":"notify","until":"2026-12-24"}"#),
            request("update-policy clear", #"{"platforms":["ios","ios"]}"#),
            Array(#"{"version":1,"id":7,"command":"revoke solution","arguments":{},"later":1}"#.utf8),
        ]
        try await InProcessServer.run { server in
            let wallet = try await server.wallet()
            let before = try await server.record().count
            for frame in frames {
                let (reply, isUse) = try await server.answer(frame)
                let text = String(decoding: frame, as: UTF8.self)
                #expect(reply.id == 7 && reply.failure?.kind == .unsupported && isUse, "\(text)")
            }
            let entries = try await server.record().dropFirst(before)
            #expect(entries.count == frames.count)
            for entry in entries {
                guard entry.event == .unknown, case .failed(of: nil, _) = entry.phase else {
                    Issue.record("\(entry)")
                    continue
                }
            }
            #expect(try await !server.store.isSolutionRevoked())
            #expect(try await server.record(of: wallet).revocation == nil)
        }
    }

    @Test("members that are null count as left out, and their order does not matter")
    func optional() async throws {
        try await InProcessServer.run { server in
            let frames = [
                request("sessions", #"{"limit":1,"after":null}"#), request("log-level", "{}"),
                Array(#"{"arguments":{"limit":1},"command":"sessions","id":7,"version":1}"#.utf8),
            ]
            for frame in frames {
                let (reply, _) = try await server.answer(frame)
                #expect(reply.failure == nil)
            }
        }
    }

    @Test("a reply that is longer than a frame becomes a failure, and the next command is answered")
    func longReply() async throws {
        try await InProcessServer.run { server in
            var operations = server.commands.operations
            operations.reload = { Array(repeating: ReloadedPart("part", problem: "unreadable"), count: 5_000) }
            let service = AdminService(of: server.server, advance: nil, operations: operations)
            let answer = await service.answer(request("reload", "{}"), from: InProcessServer.peer)
            let reply = try AdminCoding.decode(AnyReply.self, from: answer.frame)
            #expect(reply.id == 7 && reply.failure?.kind == .internal)
            #expect(reply.failure?.message.contains("too long") == true)
            #expect(try await server.answer(request("flags list", "{}")).reply.failure == nil)
        }
    }

    @Test("a malformed recovery code is not repeated in the failure")
    func secrecy() async throws {
        try await InProcessServer.run { server in
            for arguments in [#"{"code":"GEHEIM"}"#, #"{"mac":"GEHEIM"}"#, #"{"code":["GEHEIM"]}"#] {
                let answer = await server.commands.answer(
                    request("deny-list show", arguments),
                    from: InProcessServer.peer
                )
                #expect(!String(decoding: answer.frame, as: UTF8.self).contains("GEHEIM"))
            }
            #expect(!server.log.lines.contains { $0.contains("GEHEIM") })
        }
    }

    @Test("requests with a few bytes changed, left out or inserted are answered, and nothing else happens")
    func mutated() async throws {
        print("seed \(Self.seed)")
        var generator = SeededGenerator(seed: Self.seed)
        // Those without arguments outside the frame's first bytes, and none that writes a file or many keys.
        let calls = try AdminSamples.calls().filter { !["backup", "vault rotate"].contains(type(of: $0).name) }
        func encoded<Call: AdminCall>(_ call: Call) -> [UInt8] {
            AdminCoding.encode(AdminRequest(id: 5, command: Call.name, arguments: call))
        }
        let frames = calls.map { encoded($0) }
        try await InProcessServer.run { server in
            for _ in 0..<1500 {
                guard var bytes = frames.randomElement(using: &generator) else { continue }
                for _ in 0..<Int.random(in: 1...4, using: &generator) where !bytes.isEmpty {
                    let index = Int.random(in: 0..<min(bytes.count, 96), using: &generator)
                    switch Int.random(in: 0..<3, using: &generator) {
                    case 0: bytes[index] = .random(in: .min ... .max, using: &generator)
                    case 1: bytes.remove(at: index)
                    default: bytes.insert(.random(in: .min ... .max, using: &generator), at: index)
                    }
                }
                _ = try await server.answer(bytes)
            }
        }
    }
}
