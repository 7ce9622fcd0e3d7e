import Testing
import Vocabulary
import WalletFlows

@testable import WalletCore

@Suite("Wiping")
struct WipeTests {
    @Test("a wipe removes everything and tells the server")
    func wipe() async throws {
        let phone = TestPhone()
        let wallet = try await phone.setUp()
        _ = try await wallet.open(.wipe)
        #expect(try await wallet.perform(.yesDelete).step == "UC1.1/1.1")
        #expect(phone.disk.contents.isEmpty)
        #expect(phone.server.onlyRecord == nil)
        #expect(!phone.device.hasKey)
    }

    @Test("the server is told although the session is over, or the connection has ended since", arguments: [0, 1])
    func afterIdling(_ end: Int) async throws {
        let phone = TestPhone()
        let wallet = try await phone.setUp()
        _ = try await wallet.open(.wipe)
        if end == 0 { phone.server.endSessions() } else { phone.server.endLines() }
        #expect(try await wallet.perform(.yesDelete).step == "UC1.1/1.1")
        #expect(phone.server.onlyRecord == nil)
        #expect(phone.disk.contents.isEmpty)
    }

    @Test("a version that is blocked tells the server too, although its launch has sent an OpenSession already")
    func blockedVersion() async throws {
        let phone = TestPhone()
        _ = try await phone.setUp()
        phone.server.withState { $0.verdict = .block(updateAvailable: true) }
        let wallet = try phone.wallet()
        #expect(await wallet.launch().step == "PF1.4/2.1")
        _ = try await wallet.open(.wipe)
        _ = try await wallet.perform(.yesDelete)
        #expect(phone.server.onlyRecord == nil)
        #expect(phone.disk.contents.isEmpty)
    }

    @Test("a report that meets the end of its session, or whose answer is lost, is made once more", arguments: [0, 1])
    func onceMore(_ end: Int) async throws {
        let phone = TestPhone()
        let wallet = try await phone.setUp()
        _ = try await wallet.open(.wipe)
        phone.server.withState { state in
            if end == 0 { state.endsSessionsBefore = ["report wipe"] } else { state.losesNext = ["report wipe"] }
        }
        #expect(try await wallet.perform(.yesDelete).step == "UC1.1/1.1")
        #expect(phone.server.onlyRecord == nil)
        #expect(phone.disk.contents.isEmpty)
    }

    @Test("where the server cannot be reached, only wallet id and hardware key stay until a later launch has told it")
    func later() async throws {
        let phone = TestPhone()
        let wallet = try await phone.setUp()
        let walletID = try #require(await wallet.walletID)
        phone.server.withState { $0.reachable = false }
        _ = try await wallet.open(.wipe)
        #expect(try await wallet.perform(.yesDelete).step == "UC1.1/1.1")
        #expect(try LocalStore(phone.disk).state == LocalState(unreportedWipe: StoredID(walletID)))
        #expect(phone.disk.contents[.accessData] == nil)
        #expect(phone.device.hasKey)
        phone.server.withState { $0.reachable = true }
        _ = await (try phone.wallet()).launch()
        #expect(phone.server.onlyRecord == nil)
        #expect(phone.disk.contents[.state] == nil)
        #expect(!phone.device.hasKey)
    }

    @Test("cut anywhere, a wipe either has not begun or leaves nothing that opens")
    func cutEverywhere() async throws {
        let uncut = TestPhone()
        let wallet = try await uncut.setUp()
        uncut.crashPoint.arm(nil)
        _ = try await wallet.open(.wipe)
        _ = try await wallet.perform(.yesDelete)
        for cut in (0..<uncut.crashPoint.places).flatMap({ [CrashPoint.Cut.before($0), .after($0)] }) {
            let phone = TestPhone()
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
                #expect(try await phone.unlocks(with: TestPhone.oldPIN), "cut \(cut)")
            }
        }
    }

    @Test("a wiped wallet can be set up anew, also where the wipe is still owed")
    func anew() async throws {
        let phone = TestPhone()
        let wallet = try await phone.setUp()
        phone.server.withState { $0.reachable = false }
        _ = try await wallet.open(.wipe)
        _ = try await wallet.perform(.yesDelete)
        phone.server.withState { $0.reachable = true }
        #expect(try await phone.choose(TestPhone.newPIN, in: try phone.wallet()).step == "UC2.1/1.5")
        #expect(try await phone.unlocks(with: TestPhone.newPIN))
    }

    @Test("a wipe while the whole solution is revoked is still owed, and told when it is restored")
    func solutionRevoked() async throws {
        let phone = TestPhone()
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
