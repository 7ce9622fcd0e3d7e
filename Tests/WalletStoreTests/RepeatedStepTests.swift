import PINPolicy
import PostgreSQLStore
import Synchronization
import TestSupport
import Testing
import Vocabulary

@testable import WalletStore

/// Attacks on the seam between the rules and the engines.
@Suite("Steps that are undone, repeated or continued")
struct RepeatedStepTests {
    private let mark = StoredAuditMark(number: 7, mac: "1-ab")
    private let now = TestWallet.start + .seconds(10)

    @Test(
        "a step that is run again after a conflict decides from the store, and its first run leaves nothing",
        arguments: [StoreKind.sqlite, .postgreSQL]
    )
    func repeated(kind: StoreKind) async throws {
        let place = try await kind.place()
        let store = try await place.open()
        let wallet = try await TestWallet(in: store)
        store.announce(self.mark)
        let step = InterruptedEnd(wallet.id, at: self.now, by: .conflict)
        // The first run ended the wallet: had anything of it remained, this one would find it ended before.
        #expect(try await store.perform(step) == 1)
        #expect(step.runs.load(ordering: .relaxed) > 1)
        try await #expect(wallet.session(now: self.now) == .revoked(.byWipe))
        #expect(try await store.auditMark() == self.mark)
        await store.close()
        #expect(try place.count("barred_hardware_keys") == 0)
        #expect(try place.count("ended") == 1)
        if kind == .postgreSQL { #expect(try place.count("revocations") == 1) }
    }

    @Test(
        "a step that is undone leaves no end, mark or announcement, and the next change leaves each of them",
        arguments: StoreKind.allCases
    )
    func undone(kind: StoreKind) async throws {
        let place = try await kind.place()
        let store = try await place.open()
        let (wallet, other) = (try await TestWallet(in: store), try await TestWallet(in: store))
        store.announce(self.mark)
        let step = InterruptedEnd(wallet.id, at: self.now, by: .error)
        await #expect(throws: StoreError.unavailable) { try await store.perform(step) }
        #expect(try await store.auditMark() == nil)
        guard case .active = try await wallet.session() else {
            Issue.record("an end that was undone is in force")
            return
        }
        if kind == .postgreSQL { #expect(try place.count("revocations") == 0) }
        try await store.recordWipe(of: other.id, at: self.now)
        #expect(try await store.auditMark() == self.mark)
        if kind == .postgreSQL { #expect(try place.count("revocations") == 1) }
        await store.close()
    }

    @Test(
        "pages of any size pass over no wallet, also if wallets are removed between two pages",
        arguments: StoreKind.allCases
    )
    func pages(kind: StoreKind) async throws {
        let place = try await kind.place()
        let store = try await place.open()
        let mac = TestWallet.bytes(32)
        var wallets: [TestWallet] = []
        for number in 0..<7 {
            let wallet = try await TestWallet(in: store)
            _ = try await store.outcome(of: wallet.attempt(right: true, effect: .linkRecoveryCode(mac: mac)))
            if number.isMultiple(of: 2) { try await store.recordWipe(of: wallet.id, at: TestWallet.start) }
            wallets.append(wallet)
        }
        let (all, code) = (wallets.map(\.id), try TestWallet.mac(mac))
        let ended = stride(from: 0, to: 7, by: 2).map { all[$0] }
        for limit in 1...8 {
            let walks: [(expected: [WalletID], page: (UInt64?) async throws -> WalletPage<WalletID>)] = [
                (all, { try await store.perform(FoundPage(.next(after: $0, limit: limit))) }),
                (ended, { try await store.perform(FoundPage(.ended(after: $0, before: self.now, limit: limit))) }),
                (all, { try await store.perform(FoundPage(.unopened(after: $0, before: self.now, limit: limit))) }),
                (
                    all,
                    {
                        let page = try await store.perform(LinkedWallets(mac: code, after: $0, limit: limit))
                        return page.compactMap(\.id)
                    }
                ),
            ]
            for (place, walk) in walks.enumerated() {
                #expect(try await self.walk(walk.page) == walk.expected, "\(place), pages of \(limit)")
            }
        }
        var isFirst = true
        let rest = try await self.walk { cursor in
            let page = try await store.perform(FoundPage(.next(after: cursor, limit: 2)))
            if isFirst { #expect(try await store.purge([all[0], all[2]], endedBefore: self.now) == 2) }
            isFirst = false
            return page
        }
        #expect(rest == [all[0], all[1]] + all[3...])
        await store.close()
    }

    private func walk(_ page: (UInt64?) async throws -> WalletPage<WalletID>) async throws -> [WalletID] {
        var (found, cursor): ([WalletID], UInt64?) = ([], nil)
        repeat {
            let next = try await page(cursor)
            found += next.wallets
            cursor = next.next
        } while cursor != nil
        return found
    }
}

/// Returns the ids of a page.
private struct FoundPage: StoreStep {
    let selection: WalletSelection
    static let access = StepAccess.reading

    init(_ selection: WalletSelection) { self.selection = selection }

    func run(in rows: some Rows) throws -> WalletPage<WalletID> { try rows.find(self.selection).compactMap(\.id) }
}

/// Ends a wallet, and then something goes wrong: once, or each time.
private final class InterruptedEnd: StoreStep {
    enum Interruption {
        /// As of another transaction that inserted the same row; the engine repeats the step.
        case conflict
        case error
    }

    private let wallet: WalletID
    private let now: Timestamp
    private let interruption: Interruption
    let runs = Atomic(0)
    static let access = StepAccess.writing

    init(_ wallet: WalletID, at now: Timestamp, by interruption: Interruption) {
        (self.wallet, self.now, self.interruption) = (wallet, now, interruption)
    }

    func run(in rows: some Rows) throws -> Int {
        let run = self.runs.add(1, ordering: .relaxed).newValue
        let ended = try EndWallets([self.wallet], as: .byWipe, at: self.now).run(in: rows)
        switch self.interruption {
        case .error: throw StoreError.unavailable
        case .conflict where run == 1:
            for _ in 0..<2 { try rows.query(.insert(into: .barredHardwareKeys), [.bytes([1])]) }
        case .conflict: break
        }
        return ended
    }
}
