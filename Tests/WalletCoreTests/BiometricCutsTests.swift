import DeviceInterface
import Testing
import Vocabulary
import WalletFlows

@testable import WalletCore

@Suite("Biometrics, cut anywhere")
struct BiometricCutsTests {
    /// Something that changes how the wallet opens, and what a later life does to finish it.
    struct Operation: Sendable, CustomTestStringConvertible {
        let name: String
        /// The wallet as it is before.
        let prepare: @Sendable (TestPhone) async throws -> Void
        /// From a locked wallet; cut somewhere in between.
        let run: @Sendable (EngineUnderTest) async -> EngineUnderTest.Outcome
        /// The modes in which a cut may leave the wallet, the later one last.
        let modes: [BiometricMode]

        var testDescription: String { self.name }
    }

    static let operations: [Operation] = [
        Operation(
            name: "turning on, fallback mode",
            prepare: { _ = try await EngineUnderTest.setUp($0, .off) },
            run: { life in
                let checked = await life.check(TestPhone.oldPIN)
                return checked == .done ? await life.enable() : checked
            },
            modes: [.off, .fallback]
        ),
        Operation(
            name: "turning on, safe mode",
            prepare: { phone in
                _ = try await EngineUnderTest.setUp(phone, .off)
                phone.server.withState { $0.wantsSafeMode = true }
            },
            run: { life in
                let checked = await life.check(TestPhone.oldPIN)
                return checked == .done ? await life.enable() : checked
            },
            modes: [.off, .safe]
        ),
        Operation(
            name: "turning off, fallback mode",
            prepare: { _ = try await EngineUnderTest.setUp($0, .fallback) },
            run: { life in
                let checked = await life.check(TestPhone.oldPIN)
                return checked == .done ? await life.disable() : checked
            },
            modes: [.fallback, .off]
        ),
        Operation(
            name: "turning off, safe mode",
            prepare: { _ = try await EngineUnderTest.setUp($0, .safe) },
            run: { life in
                let unlocked = await life.unlock()
                return unlocked == .done ? await life.disable() : unlocked
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

    @Test("killed between any two steps, the next life opens, and finishes or repeats", arguments: Self.operations)
    func cutEverywhere(operation: Operation) async throws {
        let uncut = TestPhone()
        try await operation.prepare(uncut)
        uncut.crashPoint.arm(nil)
        #expect(await operation.run(try uncut.life()) == .done)
        #expect(try uncut.life().mode == operation.modes.last)
        #expect(uncut.crashPoint.log.contains("write state.json"))
        var seen: Set<BiometricMode> = []
        for cut in (0..<uncut.crashPoint.places).flatMap({ [CrashPoint.Cut.before($0), .after($0)] }) {
            let phone = TestPhone()
            try await operation.prepare(phone)
            phone.crashPoint.arm(cut)
            _ = await operation.run(try phone.life())
            phone.crashPoint.arm(nil)
            let mode = try phone.life().mode
            #expect(operation.modes.contains(mode), "\(cut): \(mode)")
            seen.insert(mode)
            try await Self.finish(operation, on: phone, "\(cut)")
        }
        #expect(seen == Set(operation.modes))
    }

    /// The wallet opens as it was left; then the operation is done, if it was not.
    private static func finish(_ operation: Operation, on phone: TestPhone, _ cut: String) async throws {
        #expect(try await phone.opens(with: TestPhone.oldPIN), "\(cut)")
        if try phone.life().mode != operation.modes.last {
            #expect(await operation.run(try phone.life()) == .done, "\(cut)")
        }
        #expect(try phone.life().mode == operation.modes.last, "\(cut)")
        #expect(try await phone.opens(with: TestPhone.oldPIN), "\(cut)")
        #expect(phone.server.onlyRecord?.wrongAttempts == 0, "\(cut)")
    }

    @Test(
        "SB11: a change of the PIN cut anywhere leaves one PIN that works, and the slot sealed",
        arguments: [BiometricMode.fallback, .safe]
    )
    func changeCutEverywhere(mode: BiometricMode) async throws {
        let uncut = TestPhone()
        _ = try await EngineUnderTest.setUp(uncut, mode)
        uncut.crashPoint.arm(nil)
        let life = try uncut.life()
        #expect(await life.unlock() == .done)
        #expect(await life.change(from: TestPhone.oldPIN, to: TestPhone.newPIN) == .done)
        #expect(try await uncut.opens(with: TestPhone.newPIN))
        var survivors: Set<String> = []
        for cut in (0..<uncut.crashPoint.places).flatMap({ [CrashPoint.Cut.before($0), .after($0)] }) {
            for arrivesLate in [false, true] {
                let phone = TestPhone()
                _ = try await EngineUnderTest.setUp(phone, mode)
                phone.server.withState { $0.keepsLate = arrivesLate }
                phone.crashPoint.arm(cut)
                let life = try phone.life()
                if await life.unlock() == .done {
                    _ = await life.change(from: TestPhone.oldPIN, to: TestPhone.newPIN)
                }
                phone.crashPoint.arm(nil)
                if arrivesLate { phone.server.deliverLate() }
                #expect(try phone.life().mode == mode)
                let old = try await phone.opens(with: TestPhone.oldPIN)
                let new = try await phone.opens(with: TestPhone.newPIN)
                #expect(old != new, "cut \(cut), late \(arrivesLate): old \(old), new \(new)")
                survivors.insert(new ? "new" : "old")
            }
        }
        #expect(survivors == ["old", "new"])
    }

    @Test("a wipe cut anywhere leaves a wallet that opens, or no item once the next life has begun")
    func wipeCutEverywhere() async throws {
        let uncut = TestPhone()
        _ = try await EngineUnderTest.setUp(uncut, .safe)
        uncut.crashPoint.arm(nil)
        #expect(await (try uncut.life()).perform(.wipe) == .done)
        #expect(uncut.items.isEmpty)
        #expect(uncut.crashPoint.log.contains("remove item"))
        for cut in (0..<uncut.crashPoint.places).flatMap({ [CrashPoint.Cut.before($0), .after($0)] }) {
            let phone = TestPhone()
            _ = try await EngineUnderTest.setUp(phone, .safe)
            phone.crashPoint.arm(cut)
            _ = await (try phone.life()).perform(.wipe)
            phone.crashPoint.arm(nil)
            if try phone.life().registration == nil {
                #expect(phone.items.isEmpty, "\(cut)")
                #expect(phone.disk.contents[.accessData] == nil, "\(cut)")
            } else {
                #expect(try await phone.opens(with: TestPhone.oldPIN), "\(cut)")
            }
        }
    }

    @Test("a wiped wallet's items are gone, and a host application's own stay")
    func hostsItems() async throws {
        let phone = TestPhone()
        phone.keychain.withState { $0.items["host.token"] = TestKeychain.Item(secret: [1], access: .passcode) }
        let life = try await EngineUnderTest.setUp(phone, .safe)
        _ = await life.perform(.lock)
        phone.keychain.withState { state in
            state.items["wallet-unlock.orphan"] = TestKeychain.Item(secret: [2], access: .passcode)
        }
        #expect(await (try phone.life()).unlock() == .done)
        #expect(phone.items.count == 2)
        #expect(phone.items.contains("host.token"))
        #expect(await (try phone.life()).perform(.wipe) == .done)
        #expect(phone.items == ["host.token"])
    }

    @Test("a write that reached the disk and was reported as failed loses no item that the disk names")
    func uncertainWrite() async throws {
        for modeWanted in [BiometricMode.fallback, .safe] {
            let phone = TestPhone()
            let life = try await EngineUnderTest.setUp(phone, .off)
            phone.server.withState { $0.wantsSafeMode = modeWanted == .safe }
            _ = await life.perform(.lock)
            #expect(await life.check(TestPhone.oldPIN) == .done)
            // The item, then the state: both are there, and the process lives on without knowing.
            phone.crashPoint.arm(.after(1))
            #expect(await life.enable() == .failed)
            #expect(life.mode == .off)
            #expect(try LocalStore(phone.disk).state.registration?.biometricMode == modeWanted)
            phone.crashPoint.arm(nil)
            // Tidying up at the next PIN check of the same life: disk and keychain must agree at each step.
            phone.crashPoint.arm(nil)
            #expect(await life.check(TestPhone.oldPIN) == .done)
            #expect(try await phone.opens(with: TestPhone.oldPIN))
        }
    }

    @Test("tidying up is cut anywhere too, after a write that was reported as failed")
    func uncertainWriteCut() async throws {
        for place in 0..<8 {
            for cut in [CrashPoint.Cut.before(place), .after(place)] {
                let phone = TestPhone()
                let life = try await EngineUnderTest.setUp(phone, .off)
                phone.server.withState { $0.wantsSafeMode = true }
                _ = await life.perform(.lock)
                #expect(await life.check(TestPhone.oldPIN) == .done)
                phone.crashPoint.arm(.after(1))
                #expect(await life.enable() == .failed)
                phone.crashPoint.arm(cut)
                _ = await life.check(TestPhone.oldPIN)
                phone.crashPoint.arm(nil)
                #expect(try await phone.opens(with: TestPhone.oldPIN), "\(cut)")
            }
        }
    }
}
