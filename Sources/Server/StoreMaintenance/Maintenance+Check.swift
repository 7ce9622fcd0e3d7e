internal import Logging
internal import Synchronization
internal import Vocabulary
internal import WalletStore

// Searches for damaged attempt records, to find them before a wallet's call does. The structure of the database is
// checked in each backup instead, because no second connection may read it while the store is open.
extension Maintenance {
    private static let stepSize = 200
    private static let pause: Duration = .milliseconds(5)
    /// The interval between checks, and the delay of the first check after a start.
    private static let interval: Duration = .seconds(86_400)
    private static let firstDelay: Duration = .seconds(3600)

    /// The number of damaged records found by the last check.
    package var damageCount: Int { self.state.withLock { $0.damageCount } }

    /// Checks the attempt records, unless that was done within the last day.
    func runDueCheck() async {
        let now = self.parts.clock.now()
        let isDue = self.state.withLock { state in
            // Do not check right after the start, when every wallet reconnects. If the clock was set back, the check is
            // also due.
            let next = state.nextCheck ?? now + Self.firstDelay
            state.nextCheck = next
            guard next <= now || next > now + Self.interval else { return false }
            state.nextCheck = now + Self.interval
            return true
        }
        if isDue { await self.check() }
    }

    /// Checks every attempt record, reports the damaged ones, and rewrites those in an earlier form.
    package func check() async {
        do {
            let damaged = try await self.damagedRecords()
            self.state.withLock { $0.damageCount = damaged.count }
            for wallet in damaged {
                self.parts.log.error("an attempt record is damaged", metadata: ["wallet": "\(wallet)"])
            }
        } catch StoreError.corrupt {
            // Raise the alert, because some wallet's rows cannot be read.
            self.state.withLock { $0.damageCount = max(1, $0.damageCount) }
            self.parts.log.error("the store cannot be read in full; its next backup will show the damage")
        } catch {
            self.parts.log.warning("the store was not checked", metadata: ["reason": "\(error)"])
        }
    }

    private func damagedRecords() async throws -> [WalletID] {
        var (damaged, cursor): ([WalletID], UInt64?) = ([], nil)
        repeat {
            let check = try await self.parts.store.checkRecords(after: cursor, limit: Self.stepSize)
            damaged += check.wallets
            cursor = check.next
            if cursor != nil { try await Task.sleep(for: Self.pause) }
        } while cursor != nil
        return damaged
    }
}
