import WalletFlows
import Testing
import Vocabulary

@testable import WalletCore

@Suite("SB9: a restore of the app to another phone")
struct RestoredPhoneTests {
    /// A wallet with its restored files, but without the data that never leaves a phone.
    private static func restored(_ mode: BiometricMode) async throws -> FakePhone {
        let phone = FakePhone()
        _ = try await EngineUnderTest.setUp(phone, mode)
        phone.keychain.withState { $0.items = [:] }
        try await phone.device.deleteKey()
        return phone
    }

    @Test("in the safe mode only the reset is offered, and it leads to a new wallet")
    func safe() async throws {
        let phone = try await Self.restored(.safe)
        let wallet = try phone.wallet()
        let screen = await wallet.launch()
        #expect(screen.step == "UC2.3/6.1")
        #expect(screen.actions.map(\.id) == [.resetWallet])
        #expect(try await wallet.perform(.resetWallet).step == "UC9.4/1.1")
        #expect(try await wallet.perform(.yesDelete).step == "UC1.1/1.1")
        #expect(phone.disk.contents[.state] == nil)
        #expect(phone.disk.contents[.accessData] == nil)
        phone.keychain.withState { $0.biometrics = .none }
        #expect(try await phone.choose(FakePhone.newPIN, in: try phone.wallet()).step == "UC2.1/1.5")
        #expect(try await phone.unlocks(with: FakePhone.newPIN))
    }

    @Test("in the fallback mode the PIN opens nothing and costs no attempt, and deletion is offered")
    func fallback() async throws {
        for mode in [BiometricMode.off, .fallback] {
            let phone = try await Self.restored(mode)
            let before = phone.disk.contents[.state]
            let wallet = try phone.wallet()
            #expect(await wallet.launch().step == "UC2.3/1.3")
            let error = try await wallet.enter(PINInput(typed: FakePhone.oldPIN.utf8))
            #expect(error.values["cause"] == .text("hardware-key-missing"))
            #expect(error.actions.map(\.id) == [.resetWallet, .close])
            #expect(await wallet.isLocked)
            #expect(phone.disk.contents[.state] == before)
            #expect(phone.server.onlyRecord?.wrongAttempts == 0)
            _ = try await wallet.perform(.close)
            _ = try await wallet.perform(.forgotPIN)
            _ = try await wallet.perform(.deleteWallet)
            #expect(try await wallet.perform(.yesDelete).step == "UC1.1/1.1")
            #expect(phone.disk.contents[.state] == nil)
        }
    }

    /// Enters a PIN after a launch, and returns the error screen.
    private static func failing(_ phone: FakePhone, with pin: String) async throws -> (Wallet, Screen) {
        let wallet = try phone.wallet()
        #expect(await wallet.launch().step == "UC2.3/1.3")
        return (wallet, try await wallet.enter(PINInput(typed: pin.utf8)))
    }

    @Test("files from before a PIN change are named, with either PIN, and lead to a new wallet")
    func oldBackup() async throws {
        let phone = FakePhone()
        let app = try await EngineUnderTest.setUp(phone, .off)
        let backup = phone.disk.contents
        #expect(await app.change(from: FakePhone.oldPIN, to: FakePhone.newPIN) == .done)
        for file in LocalFile.allCases {
            if let bytes = backup[file] { try phone.disk.write(bytes, to: file) }
        }
        for pin in [FakePhone.oldPIN, FakePhone.newPIN] {
            let (_, error) = try await Self.failing(phone, with: pin)
            #expect(error.values["cause"] == .text("pin-key-unknown"))
        }
        #expect(phone.server.onlyRecord?.wrongAttempts == 0)
        let (wallet, error) = try await Self.failing(phone, with: FakePhone.newPIN)
        #expect(error.actions.map(\.id) == [.resetWallet, .close])
        _ = try await wallet.perform(.resetWallet)
        #expect(try await wallet.perform(.yesDelete).step == "UC1.1/1.1")
    }

    @Test("access data that the right key does not open is named", arguments: [true, false])
    func accessData(isMissing: Bool) async throws {
        let phone = FakePhone()
        _ = try await EngineUnderTest.setUp(phone, .off)
        if isMissing {
            try phone.disk.remove(.accessData)
        } else {
            try phone.disk.write(Array(repeating: 7, count: 80), to: .accessData)
        }
        let (wallet, error) = try await Self.failing(phone, with: FakePhone.oldPIN)
        #expect(error.values["cause"] == .text("access-data"))
        #expect(error.actions.map(\.id) == [.resetWallet, .close])
        #expect(await wallet.isLocked)
    }

    @Test("a wipe that was pending before the restore does not prevent a new wallet")
    func pendingWipe() async throws {
        let phone = FakePhone()
        let app = try await EngineUnderTest.setUp(phone, .off)
        phone.server.withState { $0.reachable = false }
        #expect(await app.perform(.wipe) == .done)
        #expect(try LocalStore(phone.disk).state.unreportedWipe != nil)
        try await phone.device.deleteKey()
        phone.server.withState { $0.reachable = true }
        #expect(await (try phone.process()).perform(.enroll(EngineUnderTest.entry(FakePhone.newPIN))) == .done)
        #expect(try await phone.opens(with: FakePhone.newPIN))
    }

    @Test("a cached revocation is still shown")
    func revoked() async throws {
        let phone = FakePhone()
        _ = try await EngineUnderTest.setUp(phone, .safe)
        phone.server.revokeAll(.wallet)
        #expect(await (try phone.wallet()).launch().step == "UC1.2/5.1")
        try await phone.device.deleteKey()
        #expect(await (try phone.wallet()).launch().step == "UC1.2/5.1")
    }

    @Test(
        "a wallet that the server no longer knows can be deleted and set up again",
        arguments: [BiometricMode.off, .fallback, .safe]
    )
    func notKnown(mode: BiometricMode) async throws {
        let phone = FakePhone()
        _ = try await EngineUnderTest.setUp(phone, mode)
        let before = phone.disk.contents
        phone.server.withState { $0.records = [:] }
        let wallet = try phone.wallet()
        let screen = await wallet.launch()
        #expect(phone.disk.contents[.state] == before[.state], "no reply deletes anything")
        if mode == .safe {
            #expect(screen.step == "UC2.3/1.2")
            _ = try await wallet.perform(.close)
            _ = try await wallet.perform(.resetWallet)
        } else {
            if mode == .fallback { _ = try await wallet.perform(.close) }
            let error = try await wallet.enter(PINInput(typed: FakePhone.oldPIN.utf8))
            #expect(error.values["cause"] == .text("wallet-unknown"))
            #expect(error.actions.map(\.id) == [.retry, .resetWallet, .close])
            _ = try await wallet.perform(.close)
            _ = try await wallet.perform(.forgotPIN)
            _ = try await wallet.perform(.deleteWallet)
        }
        #expect(try await wallet.perform(.yesDelete).step == "UC1.1/1.1")
        phone.keychain.withState { $0.biometrics = .none }
        #expect(try await phone.choose(FakePhone.newPIN, in: try phone.wallet()).step == "UC2.1/1.5")
        #expect(try await phone.unlocks(with: FakePhone.newPIN))
    }

    @Test("a cached revocation is shown even after the server has purged the wallet")
    func purgedWallet() async throws {
        let phone = FakePhone()
        _ = try await EngineUnderTest.setUp(phone, .safe)
        phone.server.revokeAll(.wallet)
        #expect(await (try phone.wallet()).launch().step == "UC1.2/5.1")
        phone.server.withState { $0.records = [:] }
        #expect(await (try phone.wallet()).launch().step == "UC1.2/5.1")
    }
}
