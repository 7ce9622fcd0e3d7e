import Secrets
import Synchronization
import TestSupport
import Testing
import Vocabulary
import WalletFlows
import Wire

@testable import WalletCore

@Suite("Setup with a crash at any point")
struct SetupTests {
    @Test("a setup ends with one registration, its session, and the deletion code on the screen")
    func setup() async throws {
        let phone = FakePhone()
        let wallet = try phone.wallet()
        #expect(try await phone.choose(FakePhone.oldPIN, in: wallet).step == "UC2.1/1.5")
        let screen = try await wallet.perform(.next)
        #expect(screen.step == "UC2.1/1.6")
        #expect(screen.values["deletionCode"] == .text(try #require(phone.server.onlyRecord).deletionCode.grouped))
        #expect(try await wallet.perform(.writtenDown).step == "UC3.1/1.1")
        #expect(try await phone.unlocks(with: FakePhone.oldPIN))
        #expect(try await !phone.unlocks(with: FakePhone.newPIN))
    }

    @Test("the deletion code is shown until it is confirmed, also after a crash, and then only the server stores it")
    func codeAfterCrash() async throws {
        let phone = FakePhone()
        let first = try phone.wallet()
        _ = try await phone.choose(FakePhone.oldPIN, in: first)
        let code = try #require(phone.server.onlyRecord).deletionCode.grouped
        for _ in 0..<2 {
            let wallet = try phone.wallet()
            _ = await wallet.launch()
            var screen = try await wallet.enter(PINInput(typed: FakePhone.oldPIN.utf8))
            if screen.step == "UC2.1/1.5" { screen = try await wallet.perform(.next) }
            #expect(screen.values["deletionCode"] == .text(code))
        }
        let wallet = try phone.wallet()
        _ = await wallet.launch()
        _ = try await wallet.enter(PINInput(typed: FakePhone.oldPIN.utf8))
        #expect(try await wallet.perform(.writtenDown).step == "UC3.1/1.1")
        let last = try phone.wallet()
        _ = await last.launch()
        #expect(try await last.enter(PINInput(typed: FakePhone.oldPIN.utf8)).step == "UC3.1/1.1")
        let withoutCode = AccessData(shareCheck: Array(repeating: 0, count: 32), deletionCode: nil)
            .sealed(under: .random(count: 32), walletID: .random())
        #expect(phone.disk.contents[.accessData]?.count == withoutCode.count)
    }

    @Test("a setup interrupted at any write or message is completed at the next launch, with the PIN chosen then")
    func crashAtAnyPoint() async throws {
        let uncut = FakePhone()
        _ = try await uncut.setUp()
        let places = uncut.crashPoint.places
        #expect(places >= 10)
        for cut in (0..<places).flatMap({ [CrashPoint.Cut.before($0), .after($0)] }) {
            let phone = FakePhone()
            phone.crashPoint.arm(cut)
            _ = try? await phone.setUp()
            phone.crashPoint.arm(nil)
            try await Self.finish(phone, "cut \(cut)")
        }
    }

    /// The next process completes the setup: with the old PIN if it is registered, else with
    /// another.
    private static func finish(_ phone: FakePhone, _ name: String) async throws {
        let wallet = try phone.wallet()
        var screen = await wallet.launch()
        if screen.step == "UC1.1/1.1" {
            screen = try await phone.choose(FakePhone.newPIN, in: wallet)
            #expect(screen.step == "UC2.1/1.5", "\(name)")
            #expect(try await phone.unlocks(with: FakePhone.newPIN), "\(name)")
        } else {
            screen = try await wallet.enter(PINInput(typed: FakePhone.oldPIN.utf8))
            #expect(await !wallet.isLocked, "\(name): \(screen.step)")
        }
        #expect(phone.server.withState(\.records).values.filter { $0.hadSession }.count == 1, "\(name)")
    }

    @Test("a registration replaced by a delayed duplicate is repeated after the first session")
    func lateDuplicate() async throws {
        let phone = FakePhone()
        let wallet = try phone.wallet()
        phone.server.withState { state in
            state.forge = { result in
                guard case .openSession(.active(let opened)) = result else { return result }
                var active = opened
                active.pinKeyID = .random()
                return .openSession(.active(active))
            }
        }
        let screen = try await phone.choose(FakePhone.oldPIN, in: wallet)
        #expect(screen.step == "PF2.9/1.5")
        #expect(phone.server.withState { $0.calls.filter { $0 == "begin enrollment" }.count } == 2)
        phone.server.withState { $0.forge = nil }
        #expect(try await wallet.perform(.retry).step == "UC2.1/1.5")
    }

    @Test("a registration that was sent twice is repeated if the server processed the first message last")
    func lateRegistration() async throws {
        let phone = FakePhone()
        let wallet = try phone.wallet()
        let server = phone.server
        let first = Mutex<[WalletID: FakeServer.Record]?>(nil)
        server.withState { state in
            state.losesNext = ["register"]
            state.forge = { result in
                // Restores the record of the first message once, after the second message.
                guard case .register = result, let late = first.withLock({ $0.take() }) else { return result }
                server.withState { $0.records = late }
                return result
            }
            state.onLoss = { records in first.withLock { $0 = records } }
        }
        #expect(try await phone.choose(FakePhone.oldPIN, in: wallet).step == "UC2.1/1.5")
        // Breaks the reference cycle between server and closure.
        server.withState { $0.forge = nil }
        #expect(server.withState { $0.calls.filter { $0 == "register" }.count } == 3)
        #expect(try await phone.unlocks(with: FakePhone.oldPIN))
    }

    @Test("a rejected token is replaced once")
    func refusedToken() async throws {
        let phone = FakePhone()
        let wallet = try phone.wallet()
        phone.crashPoint.arm(.before(7))
        _ = try? await phone.choose(FakePhone.oldPIN, in: wallet)
        phone.crashPoint.arm(nil)
        phone.server.withState { $0.tokens = [:] }
        let next = try phone.wallet()
        #expect(try await phone.choose(FakePhone.oldPIN, in: next).step == "UC2.1/1.5")
    }

    @Test("a copy of the storage contains no PIN, key or code in plaintext")
    func storage() async throws {
        let phone = FakePhone()
        let wallet = try phone.wallet()
        _ = try await phone.choose(FakePhone.oldPIN, in: wallet)
        let record = try #require(phone.server.onlyRecord)
        let all = phone.disk.contents.values.map { String(decoding: $0, as: UTF8.self) }.joined()
        var scanner = SecretScanner()
        scanner.add("PIN", word: FakePhone.oldPIN)
        #expect(scanner.findings(in: all).isEmpty)
        #expect(!all.contains(record.pinKey.bytes.hex))
        #expect(!all.contains(record.unlockShare.exposedBytes().hex))
        #expect(!all.contains(record.deletionCode.characters))
    }
}
