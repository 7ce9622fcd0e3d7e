import TestSupport
import Testing

/// G4 on a network that drops replies: the real wallet, cut off at each of its messages in turn.
@Suite("Replies that are lost")
struct LostReplyTests {
    private static let pins = ["024791", "135790"]
    /// More messages than any command sends.
    private static let most = 30

    private let lab: LabUnderTest
    private let server: ServerProcess

    init() async throws {
        self.lab = try await LabUnderTest()
        self.server = try await self.lab.start()
    }

    /// Repeats an action over a proxy that cuts the connection at its first, second, … message, until no message is
    /// left.
    private func cutEverywhere(_ body: (Int, CuttingProxy) async throws -> Void) async throws {
        for record in 1...Self.most {
            let proxy = try await CuttingProxy(before: self.lab, cutAt: record)
            try await body(record, proxy)
            guard proxy.hasCut else {
                await self.server.terminate()
                return
            }
        }
        Issue.record("every message was cut; the command never ended")
    }

    @Test("one entry of a wrong PIN costs at most one attempt, and of a right one none")
    func unlock() async throws {
        let phone = CommandLinePhone(in: self.lab)
        try await phone.setUp(pin: Self.pins[0])
        var repeated = 0
        try await self.cutEverywhere { record, proxy in
            let run = try await phone.run("unlock", pins: ["864209"], at: proxy.folder)
            let counted = try await phone.counted()
            #expect(run.exitCode == 10 && counted == 1 || run.exitCode == 16 && counted <= 1, "\(record): \(run)")
            if proxy.hasCut, run.exitCode == 10 { repeated += 1 }
            let again = try await CuttingProxy(before: self.lab, cutAt: record)
            let right = try await phone.run("unlock", pins: [Self.pins[0]], at: again.folder)
            #expect([0, 16].contains(right.exitCode), "\(record): \(right.output)")
            #expect(try await phone.counted() == 0 || right.exitCode == 16)
            #expect(try await phone.run("unlock", pins: [Self.pins[0]]).exitCode == 0)
            #expect(try await phone.counted() == 0)
        }
        #expect(repeated > 0, "the wallet repeats the request itself if a verdict is lost")
    }

    @Test("a registration ends with one wallet and one working PIN, the last one chosen")
    func setup() async throws {
        try await self.cutEverywhere { record, proxy in
            let phone = CommandLinePhone(in: self.lab, "phone-\(record)")
            var pin = Self.pins[0]
            let run = try await phone.run("setup", "--code-written-down", pins: [pin], at: proxy.folder)
            if run.exitCode != 0 {
                if (try? phone.registration()) == nil { pin = Self.pins[1] }
                let again = try await phone.run("setup", "--code-written-down", pins: [pin])
                #expect(again.exitCode == 0, "\(record): \(run.output)\n\(again.output)")
            }
            for other in Self.pins {
                let unlock = try await phone.run("unlock", pins: [other])
                #expect(unlock.exitCode == (other == pin ? 0 : 10), "\(record): \(unlock.output)")
            }
        }
    }

    @Test("a PIN change ends with exactly one working PIN, the new one if the change was answered")
    func changePIN() async throws {
        let phone = CommandLinePhone(in: self.lab)
        try await phone.setUp(pin: Self.pins[0])
        var present = Self.pins[0]
        try await self.cutEverywhere { record, proxy in
            let next = present == Self.pins[0] ? Self.pins[1] : Self.pins[0]
            let run = try await phone.run("change-pin", pins: [present, next], at: proxy.folder)
            var working: [String] = []
            for pin in Self.pins {
                let unlock = try await phone.run("unlock", pins: [pin])
                #expect([0, 10].contains(unlock.exitCode), "\(record): \(unlock.output)")
                if unlock.exitCode == 0 { working.append(pin) }
            }
            #expect(working.count == 1, "\(record): \(run.output)")
            present = try working.first.orThrow()
            #expect(run.exitCode != 0 || present == next, "\(record): \(run.output)")
        }
    }
}
