internal import Synchronization
package import Vocabulary

/// The maximum number of marks that one step of a sweep reads, so that PIN checks do not wait long.
private let sweptAtOnce = 500
/// The number of due marks after which a sweep ends, so that the caller can do other work in between.
private let sweptPerCall = 2_000
private let clearing = SideStatement.delete(from: .unopened, where: ("place", .equals))

/// The result of sweeping the marks of registrations without a session.
package struct SweptMarks: Sendable {
    /// The number of marks that were old enough.
    ///
    /// All of them are removed.
    var due = 0
    /// The number of wallets removed along with them.
    var removed = 0
    /// The mark to continue after, or nil at the end.
    var next: UInt64?
}

extension WalletState {
    /// Whether the wallet is in use and has had no session.
    ///
    /// A wallet that ended before its first session is kept, so that its code is still recognized and its token counts
    /// as used.
    fileprivate var isUnopened: Bool { !self.sessionOpened && self.revocation == nil }
}

/// Removes registrations made before a time that have had no session, among the next marks after a cursor.
///
/// Stops after `mostRemoved` wallets.
///
/// A wallet's first session does not remove its mark, because each removal would write a separate page. Here, the marks
/// of one step are adjacent, and the wallet's row shows whether it has had a session.
package struct SweepUnopened: StoreStep {
    let time: Timestamp
    let after: UInt64?
    let limit: Int
    let mostRemoved: Int
    package static let access = StepAccess.writing

    package func run(in rows: some Rows) throws -> SweptMarks {
        let page = try rows.find(.unopened(after: self.after, before: self.time, limit: self.limit))
        var swept = SweptMarks(next: page.next)
        var (unopened, cleared): ([(id: WalletID, place: UInt64)], [UInt64]) = ([], [])
        for (number, mark) in page.wallets.enumerated() {
            guard unopened.count < self.mostRemoved else {
                swept.next = page.wallets[number - 1].cursor
                break
            }
            guard let id = mark.id else { continue }
            swept.due += 1
            // A damaged wallet stays, so that any access to it reports the damage.
            if mark.state?.isUnopened == true {
                unopened.append((id, mark.cursor))
            } else {
                cleared.append(mark.cursor)
            }
        }
        var removed: [WalletID] = []
        for (id, place) in unopened.inLockOrder(\.id) {
            // Another server may have opened a session, or registered the wallet again, since the page was read.
            if let held = try rows.holdIntact(id), held.wallet.row.state.isUnopened,
                held.wallet.row.key.number == Int64(bitPattern: place)
            {
                removed.append(id)
            } else {
                cleared.append(place)
            }
        }
        for place in cleared.sorted() { try rows.query(clearing, [.number(Int64(bitPattern: place))]) }
        try rows.remove(removed)
        swept.removed = removed.count
        return swept
    }
}

/// The mark that the next sweep's walk continues after, or nil to begin again.
package final class SweepCursor: Sendable {
    fileprivate let mark = Mutex<UInt64?>(nil)

    package init() {}
}

extension WalletStore {
    /// Removes registrations made before a time that have had no session, and returns their number.
    ///
    /// Reads only a few rows, no matter how many the store has. Places are assigned in order of registration, so the
    /// marks that are due come first. If the clock was set back, some of them may come after marks that are not due.
    /// Those are found by a walk over all marks, which advances by one step per sweep, or by several if it removes
    /// wallets.
    package func sweep(unopenedSince time: Timestamp) async throws(StoreError) -> Int {
        var (removed, due) = (0, 0)
        func step(after cursor: UInt64?) async throws(StoreError) -> SweptMarks {
            let swept = try await self.perform(
                SweepUnopened(time: time, after: cursor, limit: sweptAtOnce, mostRemoved: self.limits.removedAtOnce)
            )
            removed += swept.removed
            due += swept.due
            return swept
        }
        var start: UInt64?
        while due < sweptPerCall, !Task.isCancelled {
            let page = try await step(after: start)
            guard let next = page.next else { return removed }
            guard page.due > 0 else { break }
            start = next
        }
        var walked: SweptMarks
        repeat {
            walked = try await step(after: self.sweepCursor.mark.withLock(\.self))
            self.sweepCursor.mark.withLock { $0 = walked.next }
        } while walked.removed == self.limits.removedAtOnce && due < sweptPerCall && !Task.isCancelled
        return removed
    }
}
