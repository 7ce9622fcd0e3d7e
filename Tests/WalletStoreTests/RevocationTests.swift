import Foundation
import HostSystem
import Statements
import TestSupport
import Testing
import Vocabulary

@testable import PostgreSQLStore
@testable import WalletStore

@Suite("Ends of wallets")
struct RevocationTests {
    private let later = TestWallet.start + .seconds(10)

    @Test(
        "a deletion code revokes once and gives the same answer when repeated; another code is not recognized",
        arguments: StoreKind.allCases
    )
    func byCode(kind: StoreKind) async throws {
        let place = try await kind.place()
        let store = try await place.open()
        let digest = try TestWallet.digest()
        let wallet = try await TestWallet(in: store, deletionDigest: digest)
        let done = CodeRevocationOutcome.revoked(wallet.id, at: TestWallet.start)
        try await #expect(store.revoke(byDeletionCode: digest, at: TestWallet.start) == done)
        try await #expect(store.revoke(byDeletionCode: digest, at: self.later) == done)
        try await #expect(store.revoke(byDeletionCode: TestWallet.digest(), at: self.later) == .notRecognised)
        try await #expect(store.outcome(of: wallet.attempt(right: true)) == .revoked(.byDeletionCode))
        try await #expect(wallet.session() == .revoked(.byDeletionCode))
    }

    @Test(
        "a wallet revoked before its first session is not swept: its code stays recognized and its token stays used",
        arguments: StoreKind.allCases
    )
    func revokedUnopened(kind: StoreKind) async throws {
        let place = try await kind.place()
        let store = try await place.open()
        let digest = try TestWallet.digest()
        let wallet = try await TestWallet(in: store, deletionDigest: digest, opened: false)
        let done = CodeRevocationOutcome.revoked(wallet.id, at: TestWallet.start)
        try await #expect(store.revoke(byDeletionCode: digest, at: TestWallet.start) == done)
        try await #expect(store.sweep(unopenedSince: self.later) == 0)
        try await #expect(store.revoke(byDeletionCode: digest, at: self.later) == done)
        try await #expect(store.register(wallet.registration()) == .tokenUsed)
    }

    @Test(
        "a wipe ends a wallet like a revocation by its user, and changes no earlier end",
        arguments: StoreKind.allCases
    )
    func wipe(kind: StoreKind) async throws {
        let place = try await kind.place()
        let store = try await place.open()
        let mac = TestWallet.bytes(32)
        let wallet = try await TestWallet(in: store)
        _ = try await store.outcome(of: wallet.attempt(right: true, effect: .linkRecoveryCode(mac: mac)))
        try await #expect(store.revoke(recoveryCode: TestWallet.mac(mac), at: self.later).ended == 1)
        try await store.recordWipe(of: wallet.id, at: self.later)
        try await #expect(wallet.session() == .revoked(Revocation(reason: .recoveryCode, mayRegisterAnew: false)))
        try await store.recordWipe(of: .random(), at: self.later)
    }

    @Test(
        "the first recovery code stays linked; linking it again reports that it is linked already",
        arguments: StoreKind.allCases
    )
    func links(kind: StoreKind) async throws {
        let place = try await kind.place()
        let store = try await place.open()
        let wallet = try await TestWallet(in: store)
        let mac = TestWallet.bytes(32)
        for _ in 0..<2 {
            try await #expect(
                store.outcome(of: wallet.attempt(right: true, effect: .linkRecoveryCode(mac: mac)))
                    == .valid(.recoveryCodeLinked)
            )
        }
        try await #expect(
            store.outcome(of: wallet.attempt(right: true, effect: .linkRecoveryCode(mac: TestWallet.bytes(32))))
                == .valid(.linkedToAnother)
        )
    }

    @Test(
        "a recovery code on the deny list ends its linked wallets, and no wallet can link it",
        arguments: StoreKind.allCases
    )
    func denied(kind: StoreKind) async throws {
        let place = try await kind.place()
        let store = try await place.open()
        let mac = TestWallet.bytes(32)
        let linked = try await TestWallet(in: store)
        let later = try await TestWallet(in: store)
        let other = try await TestWallet(in: store)
        _ = try await store.outcome(of: linked.attempt(right: true, effect: .linkRecoveryCode(mac: mac)))
        try await #expect(store.revoke(recoveryCode: TestWallet.mac(mac), at: self.later).ended == 1)
        let end = Revocation(reason: .recoveryCode, mayRegisterAnew: false)
        try await #expect(store.outcome(of: linked.attempt(right: true)) == .revoked(end))
        let link = Attempt.Effect.linkRecoveryCode(mac: mac)
        try await #expect(
            store.outcome(of: later.attempt(right: false, effect: link))
                == .notValid(.wrong(.open(attemptsLeft: 3, finalRound: false)))
        )
        try await #expect(store.outcome(of: later.attempt(right: true, effect: link)) == .valid(.codeDenied))
        try await #expect(store.wallets(linkedTo: TestWallet.mac(mac)) == [linked.id])
        try await #expect(store.end([later.id], as: end, at: self.later) == 1)
        try await #expect(later.session() == .revoked(end))
        guard case .active = try await other.session() else {
            Issue.record("a wallet without a link ended")
            return
        }
    }

    /// Adds more wallets than two steps of a search examine.
    private func fill(_ place: StorePlace, _ store: any WalletStore) async throws {
        switch place {
        case .sqlite, .dictionary:
            try await withThrowingDiscardingTaskGroup { group in
                for _ in 0..<(2 * store.limits.searchedAtOnce + 10) {
                    group.addTask { _ = try await TestWallet(in: store, opened: false) }
                }
            }
        case .postgreSQL:
            // Wide rows alone, since registrations would take a minute.
            try place.change(
                """
                insert into wallet_values (id, version, pin_key_id, identity, unlock_share, presence_share,
                    deletion_code, recovery_mac, hardware_key, registered_at, attested)
                select int4send(number), 0, '', '', '', '', '', '', '', 0, '{}'
                from generate_series(1, \(2 * PostgreSQLWalletStore.searchedAtOnce + 10)) number
                """
            )
        }
    }

    @Test("a search finds a recovery code's wallets in any row", arguments: StoreKind.allCases)
    func search(kind: StoreKind) async throws {
        let place = try await kind.place()
        let store = try await place.open()
        let mac = TestWallet.bytes(32)
        var linked: [WalletID] = []
        for isLast in [false, true] {
            let wallet = try await TestWallet(in: store)
            _ = try await store.outcome(of: wallet.attempt(right: true, effect: .linkRecoveryCode(mac: mac)))
            linked.append(wallet.id)
            if !isLast { try await self.fill(place, store) }
        }
        try await #expect(store.wallets(linkedTo: TestWallet.mac(mac)) == linked)
        let outcome = try await store.revoke(recoveryCode: TestWallet.mac(mac), at: self.later)
        #expect(outcome.linked == Set(linked) && outcome.ended == 2)
    }

    /// Changes after which the first wallet cannot be read.
    private static let damages: [(StoreKind, String)] = [
        (.sqlite, "UPDATE wallets SET state = zeroblob(24) WHERE key = 1"),
        (.sqlite, "UPDATE wallets SET pin_key_id = zeroblob(3) WHERE key = 1"),
        (.postgreSQL, "update wallets w set record = '\\x00' from wallet_values v where v.id = w.id and place = 1"),
        (.postgreSQL, "update wallet_values set version = 9 where place = 1"),
        (.postgreSQL, "delete from wallets using wallet_values v where v.id = wallets.id and place = 1"),
    ]

    @Test(
        "a wallet that cannot be read hides no other, and an operator's revocation removes it all the same",
        arguments: Self.damages
    )
    func damagedWallet(kind: StoreKind, change: String) async throws {
        let place = try await kind.place()
        let store = try await place.open()
        let digest = try TestWallet.digest()
        let damaged = try await TestWallet(in: store, deletionDigest: digest)
        let other = try await TestWallet(in: store)
        await store.close()
        try place.change(change)
        let again = try await place.open()
        try await #expect(again.sealedValues(after: nil, limit: 2).map(\.walletID) == [other.id])
        let unknown = WalletID.random()
        try await #expect(again.revoke(wallets: [damaged.id, unknown], at: self.later) == .unknown([unknown]))
        try await #expect(again.listing(after: nil, limit: 9).map { $0.attempts == nil } == [true, false])
        let wallets = [other.id, damaged.id]
        try await #expect(again.revoke(wallets: wallets, at: self.later) == .revoked(now: 2, before: 0))
        try await #expect(again.listing(after: nil, limit: 9).map(\.walletID) == [other.id])
        try await #expect(again.purged(deletionCode: digest) == self.later)
        try await #expect(again.revoke(wallets: wallets, at: self.later) == .unknown([damaged.id]))
        await again.close()
    }

    @Test(
        "a denial removes a linked wallet that cannot be read, and ends all others",
        arguments: Self.damages
    )
    func damagedLink(kind: StoreKind, change: String) async throws {
        let place = try await kind.place()
        let store = try await place.open()
        let mac = TestWallet.bytes(32)
        var wallets: [TestWallet] = []
        for _ in 0..<3 {
            let wallet = try await TestWallet(in: store)
            _ = try await store.outcome(of: wallet.attempt(right: true, effect: .linkRecoveryCode(mac: mac)))
            wallets.append(wallet)
        }
        await store.close()
        try place.change(change)
        let again = try await place.open()
        let outcome = try await again.revoke(recoveryCode: TestWallet.mac(mac), at: self.later)
        #expect(outcome.linked == Set(wallets.map(\.id)) && outcome.ended == 3)
        let end = Revocation(reason: .recoveryCode, mayRegisterAnew: false)
        for wallet in wallets.dropFirst() { #expect(try await again.report(of: wallet.id)?.revocation == end) }
        #expect(try await again.denied(TestWallet.mac(mac)) == self.later)
        #expect(try await again.wallets(linkedTo: TestWallet.mac(mac)) == wallets.dropFirst().map(\.id))
        await again.close()
    }

    @Test(
        "a link and a denial at the same time, in either order: the wallet ends, or the link is refused",
        arguments: StoreKind.allCases,
        [false, true]
    )
    func racingDenial(kind: StoreKind, amongMany: Bool) async throws {
        let place = try await kind.place()
        let store = try await place.open()
        var wallets: [TestWallet] = []
        for _ in 0..<50 { wallets.append(try await TestWallet(in: store)) }
        // A search of several steps, the first of which examines them.
        if amongMany { try await self.fill(place, store) }
        for (round, wallet) in wallets.enumerated() {
            let mac = TestWallet.bytes(32)
            let link = try wallet.attempt(right: true, effect: .linkRecoveryCode(mac: mac))
            async let denied = store.revoke(recoveryCode: TestWallet.mac(mac), at: self.later)
            for _ in 0..<(round % 8) { _ = try await store.operatorValues() }
            async let linked = store.outcome(of: link)
            let (outcome, ending) = try await (linked, denied)
            let end = Revocation(reason: .recoveryCode, mayRegisterAnew: false)
            #expect(outcome == (ending.ended == 1 ? .valid(.recoveryCodeLinked) : .valid(.codeDenied)))
            if ending.ended == 1 { try await #expect(wallet.session() == .revoked(end)) }
        }
    }

    @Test(
        "while the solution is revoked, nothing is released or registered; after its restoration all is as before",
        arguments: StoreKind.allCases
    )
    func solution(kind: StoreKind) async throws {
        let place = try await kind.place()
        let store = try await place.open()
        let wallet = try await TestWallet(in: store)
        let early = try await TestWallet(in: store, opened: false)
        try await #expect(store.setSolutionRevoked(true))
        try await #expect(store.isSolutionRevoked())
        let revoked = Revocation(reason: .solution, mayRegisterAnew: false)
        try await #expect(store.outcome(of: wallet.attempt(right: true)) == .revoked(revoked))
        try await #expect(wallet.session() == .revoked(revoked))
        try await #expect(store.register(early.registration()) == .solutionRevoked)
        try await #expect(store.setSolutionRevoked(false))
        try await #expect(store.isSolutionRevoked() == false)
        guard case .valid(.unlockShare) = try await store.outcome(of: wallet.attempt(right: true)) else {
            Issue.record("not as before")
            return
        }
    }

    @Test(
        "a revocation without the disk space to empty the log reports that until a repetition has emptied it",
        .enabled(if: SmallDisk.isPermitted)
    )
    func notErased() async throws {
        let disk = try SmallDisk()
        let store = try SQLiteWalletStore.open(folder: disk.path, key: .test, creating: true)
        // So few that their log is not yet copied into the database, and enough to need new pages there.
        let wallets = try await withThrowingTaskGroup(of: TestWallet.self) { group in
            for _ in 0..<10 { group.addTask { try await TestWallet(in: store) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        // Space for the commit, but not for the contents of the log.
        var failure: StoreError?
        for pages in 1...16 where failure != .notErased {
            try disk.fill(leaving: pages)
            do throws(StoreError) {
                _ = try await store.revoke(wallets: [wallets[0].id], at: self.later)
            } catch {
                failure = error
            }
            if failure != .notErased { try disk.clear() }
        }
        #expect(failure == .notErased)
        try await #expect(store.report(of: wallets[0].id)?.revokedAt == self.later)
        await #expect(throws: StoreError.notErased) {
            _ = try await store.revoke(wallets: [wallets[0].id], at: self.later)
        }
        try disk.clear()
        try await #expect(store.revoke(wallets: [wallets[0].id], at: self.later) == .revoked(now: 0, before: 1))
        try #expect(DurableFile.read("\(disk.path)/wallets.db-wal", atMost: 1 << 20).isEmpty)
        await store.close()
    }

    @Test("if the log of one step is not emptied, the wallets of the next steps still end")
    func notErasedInSteps() async throws {
        let folder = TemporaryFolder()
        let store = try folder.store()
        var wallets: [WalletID] = []
        for _ in 0...endedAtOnce { wallets.append(try await TestWallet(in: store, opened: false).id) }
        await #expect(throws: StoreError.notErased) {
            try await NotErasing(store: store).end(wallets, as: .byWipe, at: self.later)
        }
        try await #expect(store.inUse(wallets).isEmpty)
        await store.close()
    }

    @Test("repeated ends of an ended wallet never make a caller wait for the log")
    func endedBefore() async throws {
        let folder = TemporaryFolder()
        let store = try folder.store()
        let (wallet, other) = (try await TestWallet(in: store), try await TestWallet(in: store))
        func log() throws -> Int { try DurableFile.read(folder.file("wallets.db-wal"), atMost: 1 << 24).count }
        try await store.recordWipe(of: wallet.id, at: self.later)
        #expect(try log() == 0)
        _ = try await store.outcome(of: other.attempt(right: false))
        let before = try log()
        #expect(before > 0)
        try await store.recordWipe(of: wallet.id, at: self.later)
        _ = try await store.revoke(wallets: [wallet.id], at: self.later)
        #expect(try log() >= before)
        _ = try await store.revoke(wallets: [wallet.id, other.id], at: self.later)
        #expect(try log() == 0)
    }

    @Test("after a revocation has returned, neither the database nor its log contains the shares any more")
    func sharesAreGone() async throws {
        let folder = TemporaryFolder()
        let store = try folder.store()
        let marker = TestWallet.bytes(16)
        let share = [[UInt8]](repeating: marker, count: 5).flatMap(\.self)
        let mac = TestWallet.bytes(32)
        var digests: [SHA256Digest] = []
        for index in 0..<300 {
            let digest = try TestWallet.digest()
            let wallet = try await TestWallet(
                in: store,
                deletionDigest: digest,
                unlockShare: share,
                presenceShare: share,
                opened: false
            )
            // Some are registered twice, some judged, some linked, so that rows move.
            if index.isMultiple(of: 3) {
                _ = try await store.register(
                    wallet.registration(deletionDigest: digest, unlockShare: share, presenceShare: share + [0])
                )
            }
            try await wallet.session()
            let effect: Attempt.Effect = index.isMultiple(of: 2) ? .releaseShare : .linkRecoveryCode(mac: mac)
            _ = try await store.outcome(of: wallet.attempt(right: true, effect: effect))
            digests.append(digest)
        }
        #expect(try folder.contents().range(of: Data(marker)) != nil, "the marker is in the file")
        for digest in digests { _ = try await store.revoke(byDeletionCode: digest, at: self.later) }
        #expect(try folder.contents().range(of: Data(marker)) == nil)
    }
}

/// A store whose log cannot be emptied after any step that ends wallets.
private struct NotErasing: WalletStore {
    let store: SQLiteWalletStore

    func perform<Step: StoreStep>(_ step: Step) async throws(StoreError) -> Step.Answer {
        let answer = try await self.store.perform(step)
        if step is EndWallets { throw .notErased }
        return answer
    }

    func identity(of wallet: WalletID) async throws(StoreError) -> StoredIdentity? { nil }
    func beginSession(_ session: NewSession) async throws(StoreError) -> SessionOutcome { .identityChanged }
    func judge(_ attempt: Attempt) async throws(StoreError) -> CertifiedOutcome { throw .unavailable }
    func isSolutionRevoked() async throws(StoreError) -> Bool { false }
    var newestRoot: SignedRoot? { nil }
    var expectedSteps: ExpectedSteps { self.store.expectedSteps }
    var commitLatency: CommitLatency { self.store.commitLatency }
    var limits: StepLimits { self.store.limits }
    var sweepCursor: SweepCursor { self.store.sweepCursor }
}
