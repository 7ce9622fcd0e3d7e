import WalletFlows
import Testing

@testable import WalletCore

@Suite("Biometrics with a crash at any point")
struct BiometricCrashTests {
    /// An operation that changes the means of unlocking, and its completion by a later process.
    struct Operation: Sendable, CustomTestStringConvertible {
        let name: String
        /// Prepares the wallet before the operation.
        let prepare: @Sendable (FakePhone) async throws -> Void
        /// Runs the operation on a locked wallet; a crash interrupts it.
        let run: @Sendable (EngineUnderTest) async -> EngineUnderTest.Outcome
        /// The modes in which a crash may leave the wallet, the final one last.
        let modes: [BiometricMode]

        var testDescription: String { self.name }
    }

    static let operations: [Operation] = [
        Operation(
            name: "turning on, fallback mode",
            prepare: { _ = try await EngineUnderTest.setUp($0, .off) },
            run: { app in
                let checked = await app.check(FakePhone.oldPIN)
                return checked == .done ? await app.enable() : checked
            },
            modes: [.off, .fallback]
        ),
        Operation(
            name: "turning on, safe mode",
            prepare: { phone in
                _ = try await EngineUnderTest.setUp(phone, .off)
                phone.server.withState { $0.wantsSafeMode = true }
            },
            run: { app in
                let checked = await app.check(FakePhone.oldPIN)
                return checked == .done ? await app.enable() : checked
            },
            modes: [.off, .safe]
        ),
        Operation(
            name: "turning off, fallback mode",
            prepare: { _ = try await EngineUnderTest.setUp($0, .fallback) },
            run: { app in
                let checked = await app.check(FakePhone.oldPIN)
                return checked == .done ? await app.disable() : checked
            },
            modes: [.fallback, .off]
        ),
        Operation(
            name: "turning off, safe mode",
            prepare: { _ = try await EngineUnderTest.setUp($0, .safe) },
            run: { app in
                let unlocked = await app.unlock()
                return unlocked == .done ? await app.disable() : unlocked
            },
            modes: [.safe, .off]
        ),
        Operation(
            name: "SB6: the migration",
            prepare: { phone in
                _ = try await EngineUnderTest.setUp(phone, .fallback)
                phone.server.withState { $0.wantsSafeMode = true }
            },
            run: { await $0.migrate() },
            modes: [.fallback, .safe]
        ),
        Operation(
            name: "SB8: the way back",
            prepare: { phone in
                _ = try await EngineUnderTest.setUp(phone, .safe)
                phone.server.withState { $0.wantsSafeMode = false }
            },
            run: { await $0.unlock() },
            modes: [.safe, .fallback]
        ),
    ]

    @Test(
        "after a crash between any two steps the next process unlocks, and completes or repeats the operation",
        arguments: Self.operations
    )
    func crashAtAnyPoint(operation: Operation) async throws {
        let uncut = FakePhone()
        try await operation.prepare(uncut)
        uncut.crashPoint.arm(nil)
        #expect(await operation.run(try uncut.process()) == .done)
        #expect(try uncut.process().mode == operation.modes.last)
        #expect(uncut.crashPoint.log.contains("write state.json"))
        var seen: Set<BiometricMode> = []
        for cut in (0..<uncut.crashPoint.places).flatMap({ [CrashPoint.Cut.before($0), .after($0)] }) {
            let phone = FakePhone()
            try await operation.prepare(phone)
            phone.crashPoint.arm(cut)
            _ = await operation.run(try phone.process())
            phone.crashPoint.arm(nil)
            let mode = try phone.process().mode
            #expect(operation.modes.contains(mode), "\(cut): \(mode)")
            seen.insert(mode)
            try await Self.finish(operation, on: phone, "\(cut)")
        }
        #expect(seen == Set(operation.modes))
    }

    /// The wallet unlocks in the state that the crash left; then the operation is completed if
    /// necessary.
    private static func finish(_ operation: Operation, on phone: FakePhone, _ cut: String) async throws {
        #expect(try await phone.opens(with: FakePhone.oldPIN), "\(cut)")
        if try phone.process().mode != operation.modes.last {
            #expect(await operation.run(try phone.process()) == .done, "\(cut)")
        }
        #expect(try phone.process().mode == operation.modes.last, "\(cut)")
        #expect(try await phone.opens(with: FakePhone.oldPIN), "\(cut)")
        #expect(phone.server.onlyRecord?.wrongAttempts == 0, "\(cut)")
    }

    @Test(
        "SB11: a change of the PIN with a crash at any point leaves one valid PIN and a sealed slot",
        arguments: [BiometricMode.fallback, .safe]
    )
    func changeCutEverywhere(mode: BiometricMode) async throws {
        let uncut = FakePhone()
        _ = try await EngineUnderTest.setUp(uncut, mode)
        uncut.crashPoint.arm(nil)
        let app = try uncut.process()
        #expect(await app.unlock() == .done)
        #expect(await app.change(from: FakePhone.oldPIN, to: FakePhone.newPIN) == .done)
        #expect(try await uncut.opens(with: FakePhone.newPIN))
        var survivors: Set<String> = []
        for cut in (0..<uncut.crashPoint.places).flatMap({ [CrashPoint.Cut.before($0), .after($0)] }) {
            for arrivesLate in [false, true] {
                let phone = FakePhone()
                _ = try await EngineUnderTest.setUp(phone, mode)
                phone.server.withState { $0.keepsLate = arrivesLate }
                phone.crashPoint.arm(cut)
                let app = try phone.process()
                if await app.unlock() == .done {
                    _ = await app.change(from: FakePhone.oldPIN, to: FakePhone.newPIN)
                }
                phone.crashPoint.arm(nil)
                if arrivesLate { phone.server.deliverLate() }
                #expect(try phone.process().mode == mode)
                let old = try await phone.opens(with: FakePhone.oldPIN)
                let new = try await phone.opens(with: FakePhone.newPIN)
                #expect(old != new, "cut \(cut), late \(arrivesLate): old \(old), new \(new)")
                survivors.insert(new ? "new" : "old")
            }
        }
        #expect(survivors == ["old", "new"])
    }

    @Test("a wipe with a crash at any point leaves a wallet that unlocks, or no item once the next process starts")
    func wipeCrash() async throws {
        let uncut = FakePhone()
        _ = try await EngineUnderTest.setUp(uncut, .safe)
        uncut.crashPoint.arm(nil)
        #expect(await (try uncut.process()).perform(.wipe) == .done)
        #expect(uncut.items.isEmpty)
        #expect(uncut.crashPoint.log.contains("remove item"))
        for cut in (0..<uncut.crashPoint.places).flatMap({ [CrashPoint.Cut.before($0), .after($0)] }) {
            let phone = FakePhone()
            _ = try await EngineUnderTest.setUp(phone, .safe)
            phone.crashPoint.arm(cut)
            _ = await (try phone.process()).perform(.wipe)
            phone.crashPoint.arm(nil)
            if try phone.process().registration == nil {
                #expect(phone.items.isEmpty, "\(cut)")
                #expect(phone.disk.contents[.accessData] == nil, "\(cut)")
            } else {
                #expect(try await phone.opens(with: FakePhone.oldPIN), "\(cut)")
            }
        }
    }

    @Test("a wipe removes the wallet's items and keeps those of the host application")
    func hostItems() async throws {
        let phone = FakePhone()
        phone.keychain.withState { $0.items["host.token"] = TestKeychain.Item(secret: [1], access: .passcode) }
        let app = try await EngineUnderTest.setUp(phone, .safe)
        _ = await app.perform(.lock)
        phone.keychain.withState { state in
            state.items["wallet-unlock.orphan"] = TestKeychain.Item(secret: [2], access: .passcode)
        }
        #expect(await (try phone.process()).unlock() == .done)
        #expect(phone.items.count == 2)
        #expect(phone.items.contains("host.token"))
        #expect(await (try phone.process()).perform(.wipe) == .done)
        #expect(phone.items == ["host.token"])
    }

    @Test("a write that reached the disk but was reported as failed loses no item that the disk names")
    func uncertainWrite() async throws {
        for modeWanted in [BiometricMode.fallback, .safe] {
            let phone = FakePhone()
            let app = try await EngineUnderTest.setUp(phone, .off)
            phone.server.withState { $0.wantsSafeMode = modeWanted == .safe }
            _ = await app.perform(.lock)
            #expect(await app.check(FakePhone.oldPIN) == .done)
            // Item and state were both written; the process continues without knowing it.
            phone.crashPoint.arm(.after(1))
            #expect(await app.enable() == .failed)
            #expect(app.mode == .off)
            #expect(try LocalStore(phone.disk).state.registration?.biometricMode == modeWanted)
            phone.crashPoint.arm(nil)
            // The clean-up at the next PIN check of the same process: disk and keychain must agree
            // at each step.
            phone.crashPoint.arm(nil)
            #expect(await app.check(FakePhone.oldPIN) == .done)
            #expect(try await phone.opens(with: FakePhone.oldPIN))
        }
    }

    @Test("the clean-up after a write that was reported as failed may crash at any point")
    func uncertainWriteCut() async throws {
        for place in 0..<8 {
            for cut in [CrashPoint.Cut.before(place), .after(place)] {
                let phone = FakePhone()
                let app = try await EngineUnderTest.setUp(phone, .off)
                phone.server.withState { $0.wantsSafeMode = true }
                _ = await app.perform(.lock)
                #expect(await app.check(FakePhone.oldPIN) == .done)
                phone.crashPoint.arm(.after(1))
                #expect(await app.enable() == .failed)
                phone.crashPoint.arm(cut)
                _ = await app.check(FakePhone.oldPIN)
                phone.crashPoint.arm(nil)
                #expect(try await phone.opens(with: FakePhone.oldPIN), "\(cut)")
            }
        }
    }
}
