import Testing
import Vocabulary
import WalletFlows
import Wire

@testable import WalletCore

@Suite("Wiping")
struct WipeTests {
    @Test("a wipe removes all data and is reported to the server")
    func wipe() async throws {
        let phone = FakePhone()
        let wallet = try await phone.setUp()
        _ = try await wallet.open(.wipe)
        #expect(try await wallet.perform(.yesDelete).step == "UC1.1/1.1")
        #expect(phone.disk.contents.isEmpty)
        #expect(phone.server.onlyRecord == nil)
        #expect(!phone.device.hasKey)
    }

    @Test("the wipe is reported even if the session or the connection has ended", arguments: [0, 1])
    func afterIdling(_ end: Int) async throws {
        let phone = FakePhone()
        let wallet = try await phone.setUp()
        _ = try await wallet.open(.wipe)
        if end == 0 { phone.server.endSessions() } else { phone.server.endConnections() }
        #expect(try await wallet.perform(.yesDelete).step == "UC1.1/1.1")
        #expect(phone.server.onlyRecord == nil)
        #expect(phone.disk.contents.isEmpty)
    }

    @Test("a blocked app version reports the wipe, too, although its launch has already sent an OpenSession")
    func blockedVersion() async throws {
        let phone = FakePhone()
        _ = try await phone.setUp()
        phone.server.withState { $0.verdict = .block(updateAvailable: true) }
        let wallet = try phone.wallet()
        #expect(await wallet.launch().step == "PF1.4/2.1")
        _ = try await wallet.open(.wipe)
        _ = try await wallet.perform(.yesDelete)
        #expect(phone.server.onlyRecord == nil)
        #expect(phone.disk.contents.isEmpty)
    }

    @Test("a report is repeated once if its session ends or its answer is lost", arguments: [0, 1])
    func reportRepeated(_ end: Int) async throws {
        let phone = FakePhone()
        let wallet = try await phone.setUp()
        _ = try await wallet.open(.wipe)
        phone.server.withState { state in
            if end == 0 { state.endsSessionsBefore = ["report wipe"] } else { state.losesNext = ["report wipe"] }
        }
        #expect(try await wallet.perform(.yesDelete).step == "UC1.1/1.1")
        #expect(phone.server.onlyRecord == nil)
        #expect(phone.disk.contents.isEmpty)
    }

    @Test("the answer to another call does not count as a report")
    func otherAnswer() async throws {
        let phone = FakePhone()
        let wallet = try await phone.setUp()
        _ = try await wallet.open(.wipe)
        let revocation = Revocation(reason: .wallet, mayRegisterAnew: true)
        phone.server.withState { state in
            state.forge = { result in
                switch result {
                case .reportWipe: return .openSession(.revoked(revocation))
                case _: return result
                }
            }
        }
        _ = try await wallet.perform(.yesDelete)
        #expect(phone.device.hasKey)
        phone.server.withState { $0.forge = nil }
        _ = await (try phone.wallet()).launch()
        #expect(!phone.device.hasKey)
    }

    @Test("without the server only wallet id and hardware key remain until a later launch reports the wipe")
    func reportedAtLaterLaunch() async throws {
        let phone = FakePhone()
        let wallet = try await phone.setUp()
        let walletID = try #require(await wallet.walletID)
        phone.server.withState { $0.reachable = false }
        _ = try await wallet.open(.wipe)
        #expect(try await wallet.perform(.yesDelete).step == "UC1.1/1.1")
        #expect(try LocalStore(phone.disk).state == LocalState(unreportedWipe: walletID))
        #expect(phone.disk.contents[.accessData] == nil)
        #expect(phone.device.hasKey)
        phone.server.withState { $0.reachable = true }
        _ = await (try phone.wallet()).launch()
        #expect(phone.server.onlyRecord == nil)
        #expect(phone.disk.contents[.state] == nil)
        #expect(!phone.device.hasKey)
    }

    @Test("after a crash at any point a wipe has not begun, or nothing can be opened")
    func crashAtAnyPoint() async throws {
        let uncut = FakePhone()
        let wallet = try await uncut.setUp()
        uncut.crashPoint.arm(nil)
        _ = try await wallet.open(.wipe)
        _ = try await wallet.perform(.yesDelete)
        for cut in (0..<uncut.crashPoint.places).flatMap({ [CrashPoint.Cut.before($0), .after($0)] }) {
            let phone = FakePhone()
            let wallet = try await phone.setUp()
            phone.crashPoint.arm(cut)
            _ = try await wallet.open(.wipe)
            _ = try? await wallet.perform(.yesDelete)
            phone.crashPoint.arm(nil)
            let state = try LocalStore(phone.disk).state
            if state.registration == nil {
                #expect(phone.disk.contents[.accessData] == nil, "cut \(cut)")
                let next = try phone.wallet()
                #expect(await next.launch().step == "UC1.1/1.1", "cut \(cut)")
                #expect(phone.server.onlyRecord == nil, "cut \(cut)")
            } else {
                #expect(try await phone.unlocks(with: FakePhone.oldPIN), "cut \(cut)")
            }
        }
    }

    @Test("a wiped wallet can be set up again, even with a pending report")
    func setUpAgain() async throws {
        let phone = FakePhone()
        let wallet = try await phone.setUp()
        phone.server.withState { $0.reachable = false }
        _ = try await wallet.open(.wipe)
        _ = try await wallet.perform(.yesDelete)
        phone.server.withState { $0.reachable = true }
        #expect(try await phone.choose(FakePhone.newPIN, in: try phone.wallet()).step == "UC2.1/1.5")
        #expect(try await phone.unlocks(with: FakePhone.newPIN))
    }

    @Test("a wipe while the solution is revoked stays pending and is reported after the restoration")
    func solutionRevoked() async throws {
        let phone = FakePhone()
        let wallet = try await phone.setUp()
        phone.server.revokeAll(.solution)
        _ = try await wallet.open(.wipe)
        #expect(try await wallet.perform(.yesDelete).step == "UC1.1/1.1")
        #expect(phone.disk.contents[.accessData] == nil)
        #expect(phone.device.hasKey)
        phone.server.withState { state in
            for id in state.records.keys { state.records[id]?.revocation = nil }
        }
        _ = await (try phone.wallet()).launch()
        #expect(phone.server.onlyRecord == nil)
        #expect(phone.disk.contents[.state] == nil)
        #expect(!phone.device.hasKey)
    }
}
