import Foundation
import SQLiteClient
import PINPolicy
import TestSupport
import Testing
import Vocabulary

@testable import WalletStore

@Suite("Operators' changes of a store")
struct OperatorTests {
    private let later = TestWallet.start + .seconds(10)
    private let byOperator = Revocation(reason: .wallet, mayRegisterAnew: true)

    @Test("wallets are revoked together; one that has already ended keeps its first end", arguments: StoreKind.allCases)
    func revokeWallets(kind: StoreKind) async throws {
        let place = try await kind.place()
        let store = try await place.open()
        let (first, second) = (try await TestWallet(in: store), try await TestWallet(in: store))
        try await store.recordWipe(of: first.id, at: TestWallet.start)
        try await #expect(
            store.revoke(wallets: [first.id, second.id], at: self.later) == .revoked(now: 1, before: 1)
        )
        try await #expect(first.session() == .revoked(.byWipe))
        try await #expect(second.session() == .revoked(self.byOperator))
        try await #expect(store.outcome(of: second.attempt(right: true)) == .revoked(self.byOperator))
        try await #expect(store.report(of: second.id)?.revokedAt == self.later)
        try await #expect(
            store.revoke(wallets: [second.id], at: self.later + .seconds(1)) == .revoked(now: 0, before: 1)
        )
        try await #expect(store.report(of: second.id)?.revokedAt == self.later)
    }

    @Test("a wallet that is named twice is revoked and counted once", arguments: StoreKind.allCases)
    func namedTwice(kind: StoreKind) async throws {
        let place = try await kind.place()
        let store = try await place.open()
        let (wallet, unknown) = (try await TestWallet(in: store), WalletID.random())
        let twice = [wallet.id, unknown, wallet.id, unknown]
        try await #expect(store.revoke(wallets: twice, at: self.later) == .unknown([unknown]))
        try await #expect(
            store.revoke(wallets: [wallet.id, wallet.id], at: self.later) == .revoked(now: 1, before: 0)
        )
    }

    @Test("a code that is not denied is removed without a change", arguments: StoreKind.allCases)
    func removalOfNothing(kind: StoreKind) async throws {
        let place = try await kind.place()
        let store = try await place.open()
        let mark = StoredAuditMark(number: 7, mac: "1-ab")
        store.announce(mark)
        try await #expect(store.removeDenied(TestWallet.mac(TestWallet.bytes(32))) == nil)
        try await #expect(store.auditMark() == nil)
    }

    @Test("an end that changes nothing keeps no audit mark", arguments: StoreKind.allCases)
    func endedBefore(kind: StoreKind) async throws {
        let place = try await kind.place()
        let store = try await place.open()
        let wallet = try await TestWallet(in: store)
        let mark = StoredAuditMark(number: 7, mac: "1-ab")
        store.announce(mark)
        try await #expect(store.revoke(wallets: [wallet.id], at: self.later) == .revoked(now: 1, before: 0))
        store.announce(StoredAuditMark(number: 9, mac: "1-cd"))
        try await #expect(store.revoke(wallets: [wallet.id], at: self.later) == .revoked(now: 0, before: 1))
        try await #expect(store.auditMark() == mark)
    }

    @Test(
        "if one wallet is unknown, none is revoked, at any position in the list",
        arguments: StoreKind.allCases,
        0..<3
    )
    func allOrNone(kind: StoreKind, position: Int) async throws {
        let place = try await kind.place()
        let store = try await place.open()
        let wallets = [try await TestWallet(in: store), try await TestWallet(in: store)]
        var ids = wallets.map(\.id)
        let unknown = WalletID.random()
        ids.insert(unknown, at: position)
        let file: TemporaryFolder? = if case .sqlite(let folder) = place { folder } else { nil }
        let before = try file?.contents()
        try await #expect(store.revoke(wallets: ids, at: self.later) == .unknown([unknown]))
        #expect(try file?.contents() == before, "nothing was written")
        for wallet in wallets {
            guard case .valid(.unlockShare) = try await store.outcome(of: wallet.attempt(right: true)) else {
                Issue.record("a wallet was revoked")
                continue
            }
        }
    }

    @Test(
        "after an operator's revocation has returned, neither the database nor its log contains the shares",
        arguments: 0..<2
    )
    func sharesAreGone(kind: Int) async throws {
        let folder = TemporaryFolder()
        let store = try folder.store()
        let marker = TestWallet.bytes(16)
        let share = [[UInt8]](repeating: marker, count: 5).flatMap(\.self)
        let mac = TestWallet.bytes(32)
        var ids: [WalletID] = []
        for _ in 0..<60 {
            let wallet = try await TestWallet(in: store, unlockShare: share, presenceShare: share)
            _ = try await store.outcome(of: wallet.attempt(right: true, effect: .linkRecoveryCode(mac: mac)))
            ids.append(wallet.id)
        }
        #expect(try folder.contents().range(of: Data(marker)) != nil, "the marker is in the file")
        if kind == 0 {
            try await #expect(store.revoke(wallets: ids, at: self.later) == .revoked(now: 60, before: 0))
        } else {
            try await #expect(store.revoke(recoveryCode: TestWallet.mac(mac), at: self.later).ended == 60)
        }
        #expect(try folder.contents().range(of: Data(marker)) == nil)
    }

    @Test(
        "a recovery code's revocation names every wallet linked to it, also when it is repeated",
        arguments: StoreKind.allCases
    )
    func recoveryCode(kind: StoreKind) async throws {
        let place = try await kind.place()
        let store = try await place.open()
        let mac = TestWallet.bytes(32)
        let (linked, wiped, other) = (
            try await TestWallet(in: store), try await TestWallet(in: store),
            try await TestWallet(in: store)
        )
        for wallet in [linked, wiped] {
            _ = try await store.outcome(of: wallet.attempt(right: true, effect: .linkRecoveryCode(mac: mac)))
        }
        try await store.recordWipe(of: wiped.id, at: TestWallet.start)
        var expected = RecoveryCodeRevocationOutcome(
            deniedAt: self.later,
            wasDenied: false,
            linked: [linked.id, wiped.id],
            ended: 1
        )
        try await #expect(store.revoke(recoveryCode: TestWallet.mac(mac), at: self.later) == expected)
        expected.wasDenied = true
        expected.ended = 0
        let evenLater = self.later + .seconds(1)
        try await #expect(store.revoke(recoveryCode: TestWallet.mac(mac), at: evenLater) == expected)
        try await #expect(store.report(of: other.id)?.revocation == nil)
        // A wallet without a link has the MAC of zeros.
        let zeros = try TestWallet.mac([UInt8](repeating: 0, count: 32))
        try await #expect(store.revoke(recoveryCode: zeros, at: self.later).linked.isEmpty)
        try await #expect(store.report(of: other.id)?.revocation == nil)
    }

    @Test(
        "the deny list is read page by page, searched, and shortened without reviving a wallet",
        arguments: StoreKind.allCases
    )
    func denyList(kind: StoreKind) async throws {
        let place = try await kind.place()
        let store = try await place.open()
        let macs = try (0..<25).map { _ in try TestWallet.mac(TestWallet.bytes(32)) }
        for mac in macs { _ = try await store.revoke(recoveryCode: mac, at: self.later) }
        var listed: [StoredDenial] = []
        var pages = 0
        while true {
            let page = try await store.denied(after: listed.last?.mac, limit: 10)
            listed += page.entries
            pages += 1
            if !page.hasMore { break }
        }
        #expect(pages == 3)
        let sorted = macs.sorted { $0.bytes.lexicographicallyPrecedes($1.bytes) }
        #expect(listed == sorted.map { StoredDenial(mac: $0, deniedAt: self.later) })
        try await #expect(store.denied(after: nil, limit: 25).hasMore == false)

        let wallet = try await TestWallet(in: store)
        let link = Attempt.Effect.linkRecoveryCode(mac: macs[0].bytes)
        let ended = Revocation(reason: .recoveryCode, mayRegisterAnew: false)
        try await #expect(store.outcome(of: wallet.attempt(right: true, effect: link)) == .valid(.codeDenied))
        try await #expect(store.end([wallet.id], as: ended, at: self.later) == 1)
        try await #expect(store.denied(macs[0]) == self.later)
        try await #expect(store.removeDenied(macs[0]) == self.later)
        try await #expect(store.removeDenied(macs[0]) == nil)
        try await #expect(store.denied(macs[0]) == nil)
        try await #expect(wallet.session() == .revoked(ended))
        let fresh = try await TestWallet(in: store)
        try await #expect(
            store.outcome(of: fresh.attempt(right: true, effect: link)) == .valid(.recoveryCodeLinked)
        )
    }

    @Test(
        "values are set and removed together, each change raises the revision, and a new process finds them",
        arguments: StoreKind.allCases
    )
    func values(kind: StoreKind) async throws {
        let place = try await kind.place()
        let store = try await place.open()
        try await #expect(store.operatorValues() == OperatorValues(revision: 0, values: [:]))
        let first = OperatorValues.Value("one", setAt: self.later)
        let set = try await store.setOperatorValues(["a": "one", "b": "two"], at: self.later)
        #expect(set == OperatorValues(revision: 1, values: ["a": first, "b": .init("two", setAt: self.later)]))
        let evenLater = self.later + .seconds(1)
        let changed = try await store.setOperatorValues(["b": nil, "c": "three"], at: evenLater)
        let expected = OperatorValues(revision: 2, values: ["a": first, "c": .init("three", setAt: evenLater)])
        #expect(changed == expected)
        await store.close()
        let again = try await place.open()
        try await #expect(again.operatorValues() == expected)
    }

    @Test(
        "the last session is recorded and never moves back; an unknown wallet is skipped",
        arguments: StoreKind.allCases
    )
    func lastSessions(kind: StoreKind) async throws {
        let place = try await kind.place()
        let store = try await place.open()
        let wallet = try await TestWallet(in: store)
        try await #expect(store.report(of: wallet.id)?.lastSession == nil)
        try await store.keepLastSessions([wallet.id: self.later, .random(): self.later])
        try await store.keepLastSessions([wallet.id: TestWallet.start])
        try await #expect(store.report(of: wallet.id)?.lastSession == self.later)
        try await store.keepLastSessions([:])
    }

    @Test("the last sessions of more wallets than one step takes are all recorded", arguments: StoreKind.allCases)
    func manyLastSessions(kind: StoreKind) async throws {
        let place = try await kind.place()
        let store = try await place.open()
        var sessions: [WalletID: Timestamp] = [.random(): self.later]
        for second in 0..<501 {
            sessions[try await TestWallet(in: store, opened: false).id] = self.later + .seconds(second)
        }
        try await store.keepLastSessions(sessions)
        let kept = try await store.listing(after: nil, limit: 1000)
        #expect(kept.count == 501)
        for wallet in kept { #expect(wallet.lastSession == sessions[wallet.walletID]) }
    }

    @Test("a report contains the wallet's record, and an unknown wallet has none", arguments: StoreKind.allCases)
    func report(kind: StoreKind) async throws {
        let place = try await kind.place()
        let store = try await place.open()
        try await #expect(store.report(of: .random()) == nil)
        let wallet = try await TestWallet(
            in: store,
            deletionDigest: try TestWallet.digest(),
            assertionCounter: 7,
            opened: false
        )
        var report = try #require(try await store.report(of: wallet.id))
        #expect(!report.sessionOpened && report.assertionCounter == 7 && report.hasDeletionCode)
        #expect(report.registeredAt == TestWallet.start && report.attested == #"{"platform":"android"}"#)
        #expect(report.identity == wallet.identity && report.attempts?.isEmpty == true)
        try await wallet.session(counter: 8)
        _ = try await store.outcome(of: wallet.attempt(right: false))
        report = try #require(try await store.report(of: wallet.id))
        #expect(report.sessionOpened && report.assertionCounter == 8 && report.attempts?.failures == 1)
        #expect(report.revocation == nil && !report.isSolutionRevoked && !report.isLinkedToRecoveryCode)
    }

    @Test("a revocation of the solution reports if it changed anything", arguments: StoreKind.allCases)
    func solution(kind: StoreKind) async throws {
        let place = try await kind.place()
        let store = try await place.open()
        try await #expect(store.setSolutionRevoked(false) == false)
        try await #expect(store.setSolutionRevoked(true))
        try await #expect(store.setSolutionRevoked(true) == false)
        try await #expect(store.setSolutionRevoked(false))
    }
}
