import AdminProtocol
import Foundation
import TestSupport
import Testing
import Transport
import Vocabulary

@testable import Administration

/// Every command, with its largest arguments among others.
enum AdminSamples {
    static let code = RecoveryCode([UInt8](repeating: 0x7E, count: 128))
    static let mac = RecoveryCodeMAC([UInt8](repeating: 0x5B, count: 32))
    static let time = Timestamp(milliseconds: 1_700_000_000_123)

    static func ids(_ count: Int) -> [WalletID] { (0..<count).map { _ in .random() } }

    static func rules(_ count: Int) throws -> [UpdateRule] {
        let words: [UpdateRule.Word] = [
            .ok, .notify, .recommend, .warn(until: self.time), .block(updateAvailable: true),
            .block(updateAvailable: false),
        ]
        return try (0..<count).map { index in
            let from = try AppVersion("999999.999999.999999.\(index)").orThrow()
            let below = try AppVersion("999999.999999.999999.999999").orThrow()
            return try UpdateRule(
                from: index % 3 == 0 ? nil : from,
                below: index % 2 == 0 ? nil : below,
                words[index % words.count]
            ).orThrow()
        }
    }

    static func calls() throws -> [any AdminCall] {
        let (code, mac) = (try self.code.orThrow(), try self.mac.orThrow())
        let rollouts: [Rollout] = [
            .off, .on, .percentage(0), .percentage(100), .wallets(Set(self.ids(Rollout.mostWallets))),
        ]
        let wallets = ListWallets(
            states: Set(WalletCondition.allCases),
            platform: .iOS,
            registeredFrom: self.time,
            registeredBefore: self.time,
            after: .max
        )
        var calls: [any AdminCall] = [
            AdvanceClock(by: .seconds(61)), ShowWallet(.random()), RevokeWallets(self.ids(1)),
            RevokeWallets(self.ids(RevokeWallets.counts.upperBound)), RevokeRecoveryCode(code), RevokeSolution(),
            RestoreSolution(), ListDenied(limit: 1), ListDenied(after: mac), ShowDenied(.code(code)),
            ShowDenied(.mac(mac)), RemoveDenied(.code(code)), RemoveDenied(.mac(mac)), ListFlags(), ShowUpdatePolicy(),
            SetUpdatePolicy([.android], to: []),
            SetUpdatePolicy([.android, .iOS], to: try self.rules(UpdateRule.most)), ClearUpdatePolicy([.iOS]),
            ShowStatus(), ListWallets(limit: 1), wallets, ListSessions(limit: 1), ListSessions(after: .max), Reload(),
            SetLogLevel(nil), StartBackup(path: "/b"), ShowMaintenance(), RotateVault(), RetireVault(), ShowVaultKeys(),
            RefreshShares(),
            StartBackup(path: "/" + String(repeating: "b", count: StartBackup.byteCounts.upperBound - 1)),
        ]
        calls += rollouts.map { SetFlag(.safeBiometricUnlock, to: $0) }
        calls += LogLevel.allCases.map { SetLogLevel($0) }
        return calls
    }
}

/// A request of a command with these arguments, in JSON.
func request(_ command: String, _ arguments: String, version: Int = 1) -> [UInt8] {
    Array(#"{"version":\#(version),"id":7,"command":"\#(command)","arguments":\#(arguments)}"#.utf8)
}

@Suite("The JSON of operators' commands")
struct AdminCodingTests {
    @Test("every command is read as it was written, and the longest ones fit into a frame")
    func calls() throws {
        func check<Call: AdminCall>(_ call: Call) throws {
            let bytes = AdminCoding.encode(AdminRequest(id: 3, command: Call.name, arguments: call))
            #expect(bytes.count <= LocalListener.longestAnswer)
            let read = try AdminCoding.decode(AdminRequest<Call>.self, from: bytes)
            #expect(read.version == 1 && read.id == 3 && read.command == Call.name)
            try read.arguments.validate()
            // Sets have no order.
            #expect(JSONObject(read.arguments) == JSONObject(call), "\(Call.name)")
        }
        let calls = try AdminSamples.calls()
        for call in calls { try check(call) }
        let names = Set(calls.map { type(of: $0).name })
        #expect(names == Set(AdminCalls.all.map { $0.name }))
    }

    @Test("every command has its own name and, except those that only other commands send, a command line")
    func names() {
        let names = AdminCalls.all.map { $0.name }
        #expect(Set(names).count == names.count)
        #expect(AdminCalls.all.filter { $0.commandLine == nil }.map { $0.name } == ["backup", "maintenance show"])
    }

    @Test("the longest page of each list fits into a frame")
    func pages() throws {
        let times = try (AdminSamples.time.text, AdminSamples.mac.orThrow())
        let wallet = """
            {"failures":65535,"lastSession":"\(times.0)","platform":"android","registeredAt":"\(times.0)",\
            "state":"blocked-permanently","wallet":"\(WalletID.random())"}
            """
        let session = """
            {"appVersion":"999999.999999.999999.999999","connection":18446744073709551615,"instructions":4294967295,\
            "platform":"android","since":"\(times.0)","source":"ffff:ffff:ffff:ffff::/64",\
            "wallet":"\(WalletID.random())"}
            """
        let entry = #"{"deniedAt":"\#(times.0)","mac":"\#(times.1)"}"#
        func check<Call: AdminCall>(_: Call.Type, _ list: String, _ item: String, _ count: Int) throws {
            let items = Array(repeating: item, count: count).joined(separator: ",")
            let json = #"{"id":1,"reply":{"\#(list)":[\#(items)],"hasMore":true}}"#
            let reply = try AdminCoding.decode(AdminReply<Call.Reply>.self, from: Array(json.utf8))
            #expect(AdminCoding.encode(reply).count <= LocalListener.longestAnswer - 64, "\(Call.name)")
        }
        try check(ListWallets.self, "wallets", wallet, ListWallets.limits.upperBound)
        try check(ListSessions.self, "sessions", session, ListSessions.limits.upperBound)
        try check(ListDenied.self, "entries", entry, ListDenied.limits.upperBound)
        let user = "uid 4294967295 (" + String(repeating: "x", count: 256) + ")"
        let request = #"{"command":"revoke solution","id":"4f2a91c0","requestedBy":"\#(user)","until":"\#(times.0)"}"#
        let list = #"{"id":1,"reply":{"requests":[\#(Array(repeating: request, count: 32).joined(separator: ","))]}}"#
        #expect(list.utf8.count <= LocalListener.longestAnswer)
    }

    @Test("a command does not print the recovery code that it carries")
    func codesAreNotPrinted() throws {
        let code = try RecoveryCode(Array("GEHEIM".utf8)).orThrow()
        for call in [RevokeRecoveryCode(code), ShowDenied(.code(code))] as [any AdminCall] {
            var dumped = ""
            dump(call, to: &dumped)
            #expect(!"\(call)".contains("71, 69") && !dumped.contains("71"), "no byte of it")
            #expect("\(call)".contains("(recovery code)"))
        }
    }

    @Test("a failure's message that is too long is cut between characters")
    func longMessage() {
        let failure = AdminFailure(.unknownWallet, String(repeating: "é", count: 400))
        #expect(failure.message == String(repeating: "é", count: 254) + "…")
    }

    @Test("the protocol's terms have the documented forms")
    func terms() throws {
        func json(_ value: some Encodable) -> String { String(decoding: AdminCoding.encode(value), as: UTF8.self) }
        #expect(json([AdminSamples.time]) == #"["2023-11-14T22:13:20.123Z"]"#)
        #expect(json(Rollout.percentage(10)) == #"{"percentage":10,"state":"percent"}"#)
        #expect(json(Rollout.off) == #"{"state":"off"}"#)
        let wallet = WalletID.random()
        #expect(json(Rollout.wallets([wallet])) == #"{"state":"list","wallets":["\#(wallet)"]}"#)
        let rule = try UpdateRule(below: AppVersion("1.4"), .warn(until: AdminSamples.time)).orThrow()
        #expect(json(rule) == #"{"below":"1.4","until":"2023-11-14T22:13:20.123Z","word":"warn"}"#)
        let flag = FlagsReply.Flag(.safeBiometricUnlock, .on, changedAt: nil)
        #expect(json(flag) == #"{"name":"safe-biometric-unlock","state":"on"}"#)
    }

    @Test("a time is read to the millisecond, and none before 1970")
    func times() throws {
        for text in ["2026-12-24", "2026-12-24T18:00:00Z", "2026-12-24T18:00:00.001Z"] {
            let time = try Timestamp(text: text).orThrow()
            #expect(try Timestamp(text: time.text).orThrow() == time)
        }
        for text in ["soon", "1969-12-31T23:59:59Z", "", "2026-13-01"] { #expect(Timestamp(text: text) == nil) }
    }
}

/// JSON as Foundation's objects, with arrays of texts in order.
struct JSONObject: Equatable {
    let object: NSObject

    init(_ value: some Encodable) {
        let data = Data(AdminCoding.encode(value))
        self.object = Self.sorted(try? JSONSerialization.jsonObject(with: data)) ?? NSNull()
    }

    private static func sorted(_ value: Any?) -> NSObject? {
        switch value {
        case let texts as [String]: texts.sorted() as NSArray
        case let object as [String: Any]: object.mapValues { Self.sorted($0) ?? NSNull() } as NSDictionary
        default: value as? NSObject
        }
    }
}
