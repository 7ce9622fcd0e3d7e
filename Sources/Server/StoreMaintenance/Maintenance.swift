package import AuditLog
internal import HostSystem
package import Logging
internal import ServiceLifecycle
internal import Synchronization
package import Vault
package import Vocabulary
package import WalletStore

/// What is done to the store as a whole while wallets are served, in steps so small that no PIN waits for them.
///
/// One thing of each kind at a time. What operators start here goes on without their connection; what was cut off by the
/// server's end is begun again where that is of use.
package final class Maintenance: Sendable {
    /// What it is made of.
    package struct Parts: Sendable {
        package var store: any MaintenanceStore
        package var vault: any RotatingVault
        package var clock: any WallClock
        package var audit: AuditLog
        /// Of the store.
        package var epoch: Int
        /// How long after their ends wallets are removed; nil keeps them.
        package var purgeAfter: Duration?
        /// How long an enrollment's token is good.
        package var tokenLifetime: Duration
        package var log: Logger

        package init(
            store: any MaintenanceStore,
            vault: any RotatingVault,
            clock: any WallClock,
            audit: AuditLog,
            epoch: Int,
            purgeAfter: Duration? = nil,
            tokenLifetime: Duration,
            log: Logger
        ) {
            self.store = store
            self.vault = vault
            self.clock = clock
            self.audit = audit
            self.epoch = epoch
            self.purgeAfter = purgeAfter
            self.tokenLifetime = tokenLifetime
            self.log = log
        }
    }

    let parts: Parts
    let state = Mutex(State())
    private let backups: AsyncStream<String>
    private let askedBackups: AsyncStream<String>.Continuation
    private let reseals: AsyncStream<Void>
    let askedReseals: AsyncStream<Void>.Continuation

    struct State {
        var backup: BackupProgress?
        var reseal: ResealProgress?
        /// Whose values the last look at all wallets could not seal anew; nil where it could.
        var damaged: DamagedWallets?
        var lastPurge: Timestamp?
    }

    /// How often it is asked whether something is due, in real time.
    private static let interval: Duration = .seconds(30)

    package init(_ parts: Parts) {
        self.parts = parts
        (self.backups, self.askedBackups) = AsyncStream.makeStream()
        (self.reseals, self.askedReseals) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// How far everything is.
    package func report() -> MaintenanceReport {
        self.state.withLock { MaintenanceReport(epoch: self.parts.epoch, backup: $0.backup, reseal: $0.reseal) }
    }

    /// Has a backup made by ``run()``.
    package func startBackup(at path: String) throws(MaintenanceFailure) {
        // Looked at again when it is made; here so that whoever asks hears of it.
        guard !DurableFile.exists(path) else {
            throw .notAllowed("\(path) exists and is not overwritten; nothing was done.")
        }
        let isFree = self.state.withLock { state in
            guard state.backup?.state != .running else { return false }
            state.backup = BackupProgress(path: path)
            return true
        }
        guard isFree else { throw .notAllowed("Another backup is being made.") }
        self.askedBackups.yield(path)
    }

    /// Makes what is asked for, and does what is due, until graceful shutdown or cancellation.
    package func run() async {
        await cancelWhenGracefulShutdown {
            async let backups: Void = self.makeBackups()
            async let reseals: Void = self.sealAnew()
            async let dueWork: Void = self.doDueWork()
            _ = await (backups, reseals, dueWork)
        }
    }

    private func makeBackups() async {
        for await path in self.backups { await self.makeBackup(at: path) }
    }

    private func sealAnew() async {
        for await _ in self.reseals { await self.resealIfDue() }
    }

    private func doDueWork() async {
        repeat {
            self.askedReseals.yield()
            await self.runDuePurge()
        } while (try? await Task.sleep(for: Self.interval)) != nil
    }

    private func makeBackup(at path: String) async {
        let (parts, audit) = (self.parts, self.parts.audit)
        let maker = BackupMaker(store: parts.store, vault: parts.vault, clock: parts.clock) { audit.newest }
        do throws(BackupFailure) {
            let backup = try await maker.make(at: path) { copied, pages in
                self.state.withLock { state in
                    state.backup?.pagesCopied = copied
                    state.backup?.pages = pages
                }
            }
            let result = "\(backup.byteCount) bytes, epoch \(backup.epoch)"
            // That it was asked for is on record; for want of room for this line no PIN is left unchecked.
            await audit.tryAppend(.backup, by: .server, .done(of: nil, result: result), detail: path)
            parts.log.notice("backup made", metadata: ["file": "\(path)", "bytes": "\(backup.byteCount)"])
            self.state.withLock { state in
                state.backup?.state = .done
                state.backup?.byteCount = backup.byteCount
                state.backup?.takenAt = backup.takenAt
            }
        } catch {
            await audit.tryAppend(.backup, by: .server, .failed(of: nil, reason: "\(error)"))
            parts.log.error("no backup was made", metadata: ["file": "\(path)", "reason": "\(error)"])
            self.state.withLock { state in
                state.backup?.state = .failed
                state.backup?.problem = "\(error)"
            }
        }
    }
}
