import Foundation
import SQLiteClient
import PINPolicy
import PostgreSQLClient
import Synchronization
import TestSupport
import Testing
import Vocabulary

@testable import PostgreSQLStore
@testable import WalletStore

@Suite("Copies of an embedded store into the database of several servers")
struct StoreCopyTests {
    private let folder = TemporaryFolder()
    private let place: PostgreSQLPlace
    private static let byOperator = Revocation(reason: .wallet, mayRegisterAnew: true)
    private let mark = StoredAuditMark(number: 7, mac: "entry 7")

    /// The copy was killed.
    private struct Killed: Error {}

    init() async throws {
        self.place = try await PostgreSQLPlace()
    }

    private func target(_ place: PostgreSQLPlace? = nil) async throws -> PostgreSQLWalletStore {
        var parts = (place ?? self.place).parts(as: "copier")
        parts.acceptsUnfinishedCopy = true
        return try await .open(parts)
    }

    private func source() throws -> SQLiteWalletStore {
        try .open(folder: self.folder.path, key: .test, acceptingMoved: true)
    }

    /// Runs a copy and closes both stores.
    @discardableResult
    private func copy(
        into place: PostgreSQLPlace? = nil,
        anew: Bool = false,
        onProgress: @escaping @Sendable (StoreCopy.Stage, Int, Int) throws -> Void = { _, _, _ in }
    ) async throws -> StoreCopy.Report {
        let (source, target) = (try self.source(), try await self.target(place))
        let copy = StoreCopy(of: source, into: target, pageSize: 3, onProgress: onProgress) { _ in self.mark }
        let result: Result<StoreCopy.Report, any Error>
        do { result = .success(try await copy.run(anew: anew)) } catch { result = .failure(error) }
        await source.close()
        await target.close()
        return try result.get()
    }

    private func contents() async throws -> WalletsOfEveryKind {
        let store = try self.folder.store()
        let contents = try await WalletsOfEveryKind(in: store)
        await store.close()
        return contents
    }

    @Test("everything arrives: wallets of every kind with their counts, and the facts and lists of the store")
    func everything() async throws {
        let contents = try await self.contents()
        let before = try self.source()
        var reports: [WalletID: String] = [:]
        for wallet in contents.all { reports[wallet.id] = "\(try #require(try await before.report(of: wallet.id)))" }
        let listing = try await before.listing(after: nil, limit: 100)
        let (values, epochs) = (try await before.operatorValues(), try await before.epochs())
        let denied = try await before.denied(after: nil, limit: 10).entries
        let versions = try await before.vaultVersions()
        await before.close()

        let report = try await self.copy()
        #expect(report.wallets == 9 && report.copiedBefore == 0 && !report.wasFinished)
        let store = try await self.place.open()
        for wallet in contents.all {
            #expect("\(try #require(try await store.report(of: wallet.id)))" == reports[wallet.id])
        }
        #expect(try await store.listing(after: nil, limit: 100) == listing)
        #expect(try await store.operatorValues() == values && values.revision == 1)
        #expect(try await store.epochs() == epochs && epochs.count == 1)
        #expect(try await store.denied(after: nil, limit: 10).entries == denied && denied.count == 1)
        #expect(try await store.vaultVersions() == versions && versions.map(\.version) == [3])
        #expect(try await store.purged(deletionCode: contents.purged) == TestWallet.start)
        #expect(try await store.wallet(ofDeletionCode: contents.digest) == contents.twoWrong.id)
        #expect(try await store.unrecordedBlocks(after: nil, lookingAt: 100).wallets.isEmpty)
        #expect(try await store.unconfirmedShares() == 1)
        let refreshed = try #require(try await store.walletsToRefresh(limit: 100))
        #expect(!refreshed.contains { $0.walletID == contents.offered.id })
        #expect(try await store.sweep(unopenedSince: TestWallet.start) == 0)
        #expect(
            try await store.purgeable(after: nil, lookingAt: 9, endedBefore: Timestamp(milliseconds: .max)).wallets
                .count == 3
        )

        let barred = contents.denied.registration(hardwareKey: contents.denied.hardwareKey)
        #expect(try await store.register(barred) == .hardwareKeyBarred)
        let new = try await TestWallet(in: store, announcing: 3)
        #expect(try await store.listing(after: nil, limit: 100).last?.walletID == new.id)
        await store.close()
        let mark = try await PostgreSQLWalletStore.open(self.place.parts(as: "copier"))
        #expect(try await mark.auditMark() == self.mark)
    }

    @Test("operator values arrive in a database that sorts names by the rules of a language")
    func collation() async throws {
        let source = try self.folder.store()
        let values = ["a": "1", "B": "2", "_": "3", "b.a": "4", "b-a": "5"]
        let kept = try await source.setOperatorValues(values, at: TestWallet.start)
        await source.close()
        let english = "encoding 'UTF8' locale 'C' locale_provider icu icu_locale 'en-US'"
        let place = try await PostgreSQLPlace(with: english)
        try await self.copy(into: place)
        let store = try await place.open()
        #expect(try await store.operatorValues() == kept)
        await store.close()
    }

    @Test("no guess is given back: two wrong PINs stay two, blocks stay, and the right PIN opens its share")
    func counts() async throws {
        let contents = try await self.contents()
        try await self.copy()
        let store = try await self.place.open()
        func judge(_ wallet: TestWallet, right: Bool) async throws -> AttemptOutcome {
            try await store.outcome(of: wallet.attempt(right: right))
        }
        #expect(
            try await judge(contents.twoWrong, right: false)
                == .notValid(.wrong(.open(attemptsLeft: 1, finalRound: false)))
        )
        #expect(try await judge(contents.twoWrong, right: true) == .valid(.unlockShare(contents.share, next: nil)))
        // The charge of the source's epoch is still due: one counted wrong PIN, one charged, and this one.
        #expect(
            try await judge(contents.counted, right: false)
                == .notValid(.wrong(.open(attemptsLeft: 1, finalRound: false)))
        )
        #expect(try await judge(contents.blocked, right: true) == .notValid(.blocked(remaining: .seconds(60))))
        #expect(try await judge(contents.blockedForGood, right: true) == .notValid(.blockedPermanently))
        #expect(try await judge(contents.revoked, right: true) == .revoked(Self.byOperator))
        #expect(try await judge(contents.wiped, right: true) == .revoked(.byWipe))
        guard case .valid(.unlockShare(_, contents.next.unlock)) = try await judge(contents.offered, right: true) else {
            Issue.record("the next share is missing")
            return
        }
        var session = contents.twoWrong
        #expect(try await store.beginSession(session.next(counter: 5)) == .counterNotIncreased)
        session = contents.fresh
        guard case .active = try await store.beginSession(session.next(counter: nil)) else {
            Issue.record("a fresh wallet has no session")
            return
        }
    }

    @Test("a copy that is killed at any step continues, and never can both stores be served")
    func kills() async throws {
        let contents = try await self.contents()
        var runs = 0
        var resumed = 0
        while true {
            let steps = Mutex(runs)
            do {
                let report = try await self.copy { _, _, _ in
                    try steps.withLock { left in
                        guard left > 0 else { throw Killed() }
                        left -= 1
                    }
                }
                resumed = report.copiedBefore
                break
            } catch is Killed {
                runs += 1
            }
            // Before its end the target is empty, or is not served.
            guard let target = try? await self.place.open() else { continue }
            #expect(try await target.walletCount() == 0, "after \(runs) steps")
            await target.close()
        }
        // Three pages are read, copied and read again, and both stores marked.
        #expect(runs >= 10)
        #expect(resumed == 9)
        #expect(throws: StoreOpenError.moved) { try SQLiteWalletStore.open(folder: self.folder.path, key: .test) }
        let store = try await self.place.open()
        let outcome = try await store.outcome(of: contents.twoWrong.attempt(right: false))
        #expect(outcome == .notValid(.wrong(.open(attemptsLeft: 1, finalRound: false))))
        await store.close()
        // A further run changes nothing.
        #expect(try await self.copy().wasFinished)
    }

    @Test("an unfinished copy is not served, also by a server that was connected to the empty database")
    func unfinished() async throws {
        let contents = try await self.contents()
        let connected = try await self.place.open()
        try await self.killAfterCopying()
        await #expect(throws: PostgreSQLStoreOpenError.unfinishedCopy) { try await self.place.open() }
        await #expect(throws: StoreError.unavailable) { try await TestWallet(in: connected) }
        await #expect(throws: StoreError.unavailable) {
            try await connected.outcome(of: contents.twoWrong.attempt(right: true))
        }
        await connected.close()
    }

    /// Begins a copy that is killed once all wallets are copied.
    private func killAfterCopying() async throws {
        await #expect(throws: Killed.self) {
            try await self.copy { stage, _, _ in if stage == .verifying { throw Killed() } }
        }
    }

    @Test("a source that was served since its copy began is copied anew, with what it has counted")
    func servedMeanwhile() async throws {
        let contents = try await self.contents()
        try await self.killAfterCopying()
        let served = try self.folder.store()
        _ = try await served.outcome(of: contents.fresh.attempt(right: false))
        _ = try await served.revoke(wallets: [contents.counted.id], at: TestWallet.start)
        await served.close()
        await #expect(throws: StoreCopyFailure.sourceChanged) { try await self.copy() }
        #expect(try await self.copy(anew: true).copiedBefore == 0)
        let store = try await self.place.open()
        #expect(try await store.report(of: contents.fresh.id)?.attempts?.failures == 1)
        #expect(try await store.outcome(of: contents.counted.attempt(right: true)) == .revoked(Self.byOperator))
        #expect(try await store.epochs().count == 1, "a copy opens no epoch")
    }

    @Test("a database with a wallet, or that a server has served, is not a target, and is not changed")
    func targetInUse() async throws {
        _ = try await self.contents()
        let foreign = try await self.place.open()
        let wallet = try await TestWallet(in: foreign)
        await #expect(throws: StoreCopyFailure.targetInUse) { try await self.copy(anew: true) }
        #expect(try await foreign.listing(after: nil, limit: 9).map(\.walletID) == [wallet.id])

        let second = try await PostgreSQLPlace()
        let served = try await second.open()
        // As each server does when it starts.
        _ = try await served.note(vaultVersion: 1, check: [1], at: TestWallet.start)
        await #expect(throws: StoreCopyFailure.targetInUse) { try await self.copy(into: second) }
        try await #expect(served.walletCount() == 0)
        let source = try self.folder.store()
        await source.close()
    }

    @Test("a moved store is copied into no other database, also if that has an unfinished copy of it")
    func movedElsewhere() async throws {
        _ = try await self.contents()
        try await self.killAfterCopying()
        let second = try await PostgreSQLPlace()
        try await self.copy(into: second)
        await #expect(throws: StoreCopyFailure.movedElsewhere) { try await self.copy() }
        await #expect(throws: StoreCopyFailure.movedElsewhere) { try await self.copy(into: PostgreSQLPlace()) }
        await #expect(throws: PostgreSQLStoreOpenError.unfinishedCopy) { try await self.place.open() }
    }

    @Test("a moved store is not opened and not changed, whether its mark is in the file or in its log")
    func moved() async throws {
        _ = try await self.contents()
        let store = try self.source()
        try await store.noteMoved(to: "copy 1")
        let inLog = TemporaryFolder()
        for name in ["wallets.db", "wallets.db-wal", "wallets.db-mark"] {
            try FileManager.default.copyItem(atPath: self.folder.file(name), toPath: inLog.file(name))
        }
        await store.close()
        // SQLite would remove a log that does not belong to the file.
        let withLog = TemporaryFolder()
        for (name, folder) in [
            ("wallets.db", self.folder), ("wallets.db-mark", self.folder), ("wallets.db-wal", inLog),
        ] {
            try FileManager.default.copyItem(atPath: folder.file(name), toPath: withLog.file(name))
        }
        let (before, found) = (try self.folder.contents(), try withLog.contents())
        for folder in [self.folder, withLog, inLog] {
            #expect(throws: StoreOpenError.moved) { try SQLiteWalletStore.open(folder: folder.path, key: .test) }
        }
        #expect(try self.folder.contents() == before)
        #expect(try withLog.contents() == found)
        let again = try self.source()
        #expect(try await again.movedTo() == "copy 1")
        let values = try await again.perform(RowsToCopy(of: .operatorValues, after: nil, limit: 10)).rows
        #expect(values.map { $0[0] } == [.text("flag.a"), .text("percent")])
        await again.close()
    }

    /// Damages that a copy must notice.
    enum Damage: String, CaseIterable, Sendable {
        case otherRecord =
            "UPDATE attempts SET record = (SELECT record FROM attempts WHERE wallet <> 3) WHERE wallet = 3"
        case noRecord = "DELETE FROM attempts WHERE wallet = 3"
        case state = "UPDATE wallets SET state = x'01' WHERE key = 3"
        case futureEpoch =
            "UPDATE wallets SET state = CAST(substr(state,1,16)||x'00000009'||substr(state,21) AS BLOB) WHERE key = 3"
    }

    @Test("a damaged record in the source is named, and nothing is copied", arguments: Damage.allCases)
    func damagedSource(_ damage: Damage) async throws {
        let contents = try await self.contents()
        let file = try SQLiteDatabase(self.folder.file("wallets.db"))
        try file.execute(damage.rawValue)
        file.close()
        await #expect(throws: StoreCopyFailure.damaged([contents.fresh.id])) { try await self.copy() }
        let target = try await self.place.open()
        #expect(try await target.walletCount() == 0)
        await target.close()
    }

    @Test("a wallet that has ended is copied although its attempts are damaged")
    func damagedEnded() async throws {
        let contents = try await self.contents()
        let file = try SQLiteDatabase(self.folder.file("wallets.db"))
        try file.run(
            "DELETE FROM attempts WHERE wallet = (SELECT key FROM wallets WHERE id = ?)",
            [.bytes(contents.wiped.id.bytes)]
        )
        file.close()
        #expect(try await self.copy().wallets == 9)
        let store = try await self.place.open()
        #expect(try await store.report(of: contents.wiped.id)?.revocation == .byWipe)
    }

    /// Changes of the target that only a comparison of all contents can notice.
    enum Change: String, CaseIterable, Sendable {
        case wallet = "update wallet_values set registered_at = registered_at + 1 where place = 4"
        case lostWallet = "delete from wallet_values where place = 5"
        case narrowRow = "insert into wallets select '\\x00', record from wallets limit 1"
        case denial = "delete from denied_recovery_codes"
        case barredKey = "delete from barred_hardware_keys"
        case fact = "update facts set solution_revoked = true"
        case block = "delete from recorded_blocks"
    }

    @Test("a target that differs from the source is not served", arguments: Change.allCases)
    func differences(_ change: Change) async throws {
        _ = try await self.contents()
        let place = self.place
        await #expect(throws: StoreCopyFailure.differs) {
            try await self.copy { stage, done, all in
                guard stage == .copying, done == all else { return }
                let connection = try place.connect()
                _ = try connection.run(change.rawValue)
            }
        }
        await #expect(throws: PostgreSQLStoreOpenError.unfinishedCopy) { try await self.place.open() }
        await (try self.folder.store()).close()
    }

    @Test("the copied shares are sealed under the key of the narrow row, and an ended wallet has no such key")
    func shares() async throws {
        let contents = try await self.contents()
        try await self.copy()
        let connection = try self.place.connect()
        func row(_ wallet: TestWallet) throws -> (narrow: NarrowRow, share: [UInt8]) {
            let rows = try connection.run(
                "select record, unlock_share from wallets join wallet_values using (id) where id = $1",
                [.bytes(wallet.id.bytes)]
            )
            return (try #require(NarrowRow(decoding: rows.bytes(0, 0) ?? [])), try #require(rows.bytes(0, 1)))
        }
        #expect(try row(contents.twoWrong).share != contents.share)
        #expect(try row(contents.twoWrong).narrow.shareKey.contains { $0 != 0 })
        #expect(try row(contents.revoked).narrow.shareKey.allSatisfy { $0 == 0 })
        #expect(try row(contents.twoWrong).narrow.shareKey != row(contents.fresh).narrow.shareKey)
    }
}

extension TestWallet {
    fileprivate func next(counter: UInt32?) -> NewSession {
        NewSession(
            walletID: self.id,
            identity: self.identity,
            assertionCounter: counter,
            policy: .standard,
            now: TestWallet.start
        )
    }
}
