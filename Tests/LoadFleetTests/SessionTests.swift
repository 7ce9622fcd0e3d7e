import HostSystem
import Secrets
import TestSupport
import Testing
import Transport
import Vocabulary
import Wire

@testable import LoadEngine

@Suite("Sessions of a fleet's wallets, against a real server")
struct SessionTests {
    private let lab: LoadLab
    private let server: ServerProcess

    init() async throws {
        self.lab = try await LoadLab()
        self.server = try await self.lab.start()
    }

    @Test("right and wrong PINs of both platforms get their verdicts, and the share is the wallet's")
    func verdicts() async throws {
        let (fleet, target) = try await self.lab.fleet(6)
        #expect(try Set((0..<6).map { try fleet[$0].platform }) == [.android, .iOS])
        for index in 0..<6 {
            let session = try await fleet.session(index, at: target)
            #expect(session.opening.pinState == .open(attemptsLeft: 4, finalRound: false))
            #expect(session.opening.pinKeyID == session.wallet.pinKeyID(generation: 0))
            #expect(session.terms.policy == .standard)
            for variant: UInt32 in [0, 999_998, 4_000_000_000] {
                guard case .wrong = try await session.check(.wrong(variant)) else {
                    Issue.record("a wrong PIN was not called wrong")
                    continue
                }
            }
            guard case .pinValid(let share, _) = try await session.check(.right) else {
                Issue.record("the right PIN was not called valid")
                continue
            }
            #expect(session.wallet.proves(share) && !session.wallet.proves(Share.random()))
            session.close()
            let again = try await fleet.session(index, at: target)
            #expect(again.opening.pinState == .open(attemptsLeft: 4, finalRound: false))
        }
    }

    @Test("a changed PIN is current in the file, in other sessions and after a lost response")
    func change() async throws {
        var (fleet, target) = try await self.lab.fleet(1)
        let session = try await fleet.session(0, at: target)
        let other = try await fleet.session(0, at: target)
        guard case .pinChanged = try await session.changePIN() else {
            Issue.record("the PIN was not changed")
            return
        }
        #expect(try session.generation == 1 && fleet[0].generation == 1)
        #expect(try await Self.isValid(session))
        let refusal = await #expect(throws: FleetFailure.self) { try await other.check(.right) }
        #expect(refusal?.reason == "refused:pin-key-changed")
        #expect(try await Self.isValid(other), "the session has adopted the new PIN")
        guard case .wrong = try await session.changePIN(.wrong(3)) else {
            Issue.record("a wrong PIN changed the PIN")
            return
        }
        #expect(session.generation == 1)
        #expect(try await Self.isValid(session))
        // The response is lost if the file still has the old generation.
        for _ in 0..<3 { _ = try await session.changePIN() }
        try self.behind(&fleet, target) { $0.generation = 1 }
        let late = try await fleet.session(0, at: target)
        #expect(try late.generation == 4 && fleet[0].generation == 4)
        #expect(try await Self.isValid(late))
    }

    @Test("parallel sessions of one iPhone are all opened")
    func parallelSessions() async throws {
        let (fleet, target) = try await self.lab.fleet(1, share: "100%")
        let opened = try await withThrowingTaskGroup(of: FleetSession.self) { group in
            for _ in 0..<16 { group.addTask { try await fleet.session(0, at: target) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(opened.count == 16)
        for session in opened { #expect(try await Self.isValid(session)) }
    }

    @Test("an iPhone's proof is not made while another one is in flight")
    func serializedProofs() async throws {
        let (fleet, target) = try await self.lab.fleet(1, share: "100%")
        await fleet.proofs.acquire(0)
        let opening = Task { try await fleet.session(0, at: target).close() }
        #expect(await eventually { fleet.proofs.waitingCount(0) > 0 })
        fleet.proofs.release(0)
        try await opening.value
    }

    @Test("an iPhone proves itself after a crash of the machine that lost the last writes")
    func lostWrites() async throws {
        var (fleet, target) = try await self.lab.fleet(1, share: "100%")
        for _ in 0..<5 { try await fleet.session(0, at: target).close() }
        try self.behind(&fleet, target) { $0.counter = 1 }
        #expect(fleet.mayBeBehind)
        #expect(try await Self.isValid(try await fleet.session(0, at: target)))
    }

    @Test("a share that is not the wallet's does not prove a right PIN")
    func falseShare() async throws {
        var (fleet, target) = try await self.lab.fleet(1)
        try self.behind(&fleet, target) { $0.shareCheck[0] ^= 1 }
        let session = try await fleet.session(0, at: target)
        await #expect(throws: FleetFailure.falseShare) { try await session.check(.right) }
    }

    @Test("a wallet that the server does not know is refused with a named failure")
    func unknownWallet() async throws {
        var (fleet, target) = try await self.lab.fleet(1)
        try self.behind(&fleet, target) { $0.walletID = .random() }
        let failure = await #expect(throws: FleetFailure.self) { try await fleet.session(0, at: target) }
        #expect(failure?.reason == "refused:authentication-failed")
        #expect(failure?.isTransient == false)
    }

    @Test("only a resuming context resumes connections")
    func resumption() async throws {
        let (fleet, target) = try await self.lab.fleet(1)
        for isResuming in [true, false] {
            let tls = try target.tls(resuming: isResuming)
            for number in 0..<3 {
                let session = try await fleet.session(0, at: target, tls)
                #expect(session.isResumed == (isResuming && number > 0))
                // The ticket arrives with the first responses.
                #expect(try await Self.isValid(session))
                session.close()
                await session.connection.closed()
            }
        }
    }

    @Test("a wallet registers without a file, over a connection after Hello")
    func register() async throws {
        let (fleet, target) = try await self.lab.fleet(1)
        let registrar = try Registrar(for: fleet, at: target)
        let connection = try await target.connect(tls: try target.tls(resuming: false), timeout: LoadLab.patience)
        try await Registrar.greet(connection, timeout: LoadLab.patience)
        var ids: Set<WalletID> = []
        for platform in [Platform.android, .iOS, .android] {
            let new = try await registrar.register(platform, on: connection, timeout: LoadLab.patience)
            #expect(new.platform == platform)
            ids.insert(new.walletID)
        }
        #expect(ids.count == 3)
    }

    private static func isValid(_ session: FleetSession) async throws -> Bool {
        if case .pinValid = try await session.check(.right) { return true }
        return false
    }

    /// Opens the file again, unclosed and with another first record.
    private func behind(
        _ fleet: inout Fleet,
        _ target: Target,
        _ change: (inout FleetRecord) -> Void
    ) throws {
        var record = try fleet.record(in: 0)
        change(&record)
        var bytes = try DurableFile.read(self.lab.wallets, atMost: 1 << 20)
        bytes.replaceSubrange(
            Fleet.offset(of: 0)..<(Fleet.offset(of: 0) + FleetRecord.byteCount),
            with: record.encoded
        )
        let copy = self.lab.folder.file("copy")
        try DurableFile.write(bytes, to: copy)
        fleet = try Fleet.open(copy, for: target.fingerprint)
    }
}
