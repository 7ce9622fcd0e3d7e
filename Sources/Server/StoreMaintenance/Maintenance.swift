package import AuditLog
internal import HostSystem
package import Logging
internal import ServiceLifecycle
internal import Synchronization
package import Vault
package import Vocabulary
package import WalletStore

/// Performs work on the whole store while wallets are served, in small steps so that PIN checks do not wait for it.
///
/// Only one task of each kind runs at a time. A task started by an operator continues if the operator disconnects.
/// Interrupted resealing continues after a restart, but an interrupted backup does not.
package final class Maintenance: Sendable {
    /// The objects that maintenance uses, and its settings.
    package struct Parts: Sendable {
        package var store: any WalletStore
        /// This server's lease, if several servers may use the store; one of them does the due work.
        package var lease: (any ServerLease)?
        package var vault: KeyFileVault
        package var clock: any WallClock
        package var audit: AuditLog
        /// The store's epoch.
        package var epoch: Int
        /// The time after which ended wallets are removed, or nil to keep them.
        package var purgeAfter: Duration?
        /// The lifetime of enrollment tokens.
        package var tokenLifetime: Duration
        /// The lifetime of sessions, which keep the keys of their wallets.
        package var sessionLifetime: Duration
        /// The time of the last recorded backup, or nil if there is none.
        package var lastBackup: Timestamp?
        package var log: Logger

        package init(
            store: any WalletStore,
            lease: (any ServerLease)? = nil,
            vault: KeyFileVault,
            clock: any WallClock,
            audit: AuditLog,
            epoch: Int,
            purgeAfter: Duration? = nil,
            tokenLifetime: Duration,
            sessionLifetime: Duration,
            lastBackup: Timestamp? = nil,
            log: Logger
        ) {
            self.store = store
            self.lease = lease
            self.vault = vault
            self.clock = clock
            self.audit = audit
            self.epoch = epoch
            self.purgeAfter = purgeAfter
            self.tokenLifetime = tokenLifetime
            self.sessionLifetime = sessionLifetime
            self.lastBackup = lastBackup
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
        var refresh: ShareRefreshProgress?
        /// The wallets that the last pass could not reseal, or nil if it resealed all of them.
        var damaged: DamagedWallets?
        var lastPurge: Timestamp?
        /// The time of the next check of attempt records, or nil before the first pass.
        var nextCheck: Timestamp?
        var damageCount = 0
        var lastBackup: Timestamp?
    }

    /// The interval at which to check for due work, in real time.
    private static let interval: Duration = .seconds(30)

    package init(_ parts: Parts) {
        self.parts = parts
        (self.backups, self.askedBackups) = AsyncStream.makeStream()
        (self.reseals, self.askedReseals) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
        self.state.withLock { $0.lastBackup = parts.lastBackup }
    }

    /// Returns the progress of all tasks.
    package func report() -> MaintenanceReport {
        self.state.withLock {
            MaintenanceReport(epoch: self.parts.epoch, backup: $0.backup, reseal: $0.reseal, refresh: $0.refresh)
        }
    }

    /// The time of the last recorded backup, or nil if there is none.
    package var lastBackup: Timestamp? { self.state.withLock(\.lastBackup) }

    /// Requests a backup, to be made by ``run()``.
    package func startBackup(at path: String) throws(MaintenanceFailure) {
        guard self.parts.store is SQLiteWalletStore else {
            throw .notAllowed("The store is a PostgreSQL database; back it up with its own tools (docs/cluster.md).")
        }
        // Checked again when the backup is made. Checking here lets the operator see the error.
        guard !DurableFile.exists(path) else {
            throw .notAllowed("\(path) exists and is not overwritten; nothing was done. Name another file.")
        }
        let isFree = self.state.withLock { state in
            guard state.backup?.state != .running else { return false }
            state.backup = BackupProgress(path: path)
            return true
        }
        guard isFree else { throw .notAllowed("Another backup is being made; wait until it is done.") }
        self.askedBackups.yield(path)
    }

    /// Makes requested backups and performs due work until graceful shutdown or cancellation.
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
        for await _ in self.reseals { await self.runDueReseal() }
    }

    /// Makes next shares and reseals values, as far as that is due and this server's task.
    package func runDueReseal() async {
        guard self.hasTurn else { return }
        await self.refreshSharesIfDue()
        await self.resealIfDue()
    }

    /// Whether the work on the whole store is this server's task.
    ///
    /// Each step is safe beside that of another server, so a change of the task between two steps does no harm.
    private var hasTurn: Bool { self.parts.lease?.hasMaintenance ?? true }

    /// Rejects an operator's command for the whole store at a server that does not have its maintenance.
    func requireTurn() throws(MaintenanceFailure) {
        guard !self.hasTurn else { return }
        let name = self.parts.lease?.servers.first(where: \.hasMaintenance)?.name ?? "none at present"
        throw .notAllowed("One server of the store has its maintenance: \(name). Give the command there.")
    }

    private func doDueWork() async {
        repeat { await self.runDueWork() } while (try? await Task.sleep(for: Self.interval)) != nil
    }

    /// Follows the other servers' rotation, and does all work that is due if it is this server's task.
    package func runDueWork() async {
        await self.useNotedVersion()
        guard self.hasTurn else { return }
        // rule: server-rotation-not-continued
        self.askedReseals.yield()
        await self.runDuePurge()
        await self.runDueCheck()
    }

    private func makeBackup(at path: String) async {
        let (parts, audit) = (self.parts, self.parts.audit)
        guard let store = parts.store as? SQLiteWalletStore else { return }
        let maker = BackupMaker(store: store, vault: parts.vault, clock: parts.clock) { audit.newest }
        do throws(BackupFailure) {
            let backup = try await maker.make(at: path) { copied, pages in
                self.state.withLock { state in
                    state.backup?.pagesCopied = copied
                    state.backup?.pages = pages
                }
            }
            let result = "\(backup.byteCount) bytes, epoch \(backup.epoch)"
            // The request has been recorded. If the audit log is full, PIN checks must continue without this entry.
            await audit.tryAppend(.backup, by: .server, .done(of: nil, result: result), detail: path)
            parts.log.notice("backup made", metadata: ["file": "\(path)", "bytes": "\(backup.byteCount)"])
            self.state.withLock { state in
                state.backup?.state = .done
                state.backup?.byteCount = backup.byteCount
                state.backup?.takenAt = backup.takenAt
                state.lastBackup = backup.takenAt
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

/// The progress of work on the whole store.
package struct MaintenanceReport: Hashable, Sendable {
    /// The store's epoch, which starts at 1.
    package var epoch: Int
    /// The newest backup since the process started, and the newest resealing.
    package var backup: BackupProgress?
    package var reseal: ResealProgress?
    /// The newest share refresh since the process started.
    package var refresh: ShareRefreshProgress?
}

/// The state of a background task.
package enum MaintenanceState: String, Codable, Hashable, Sendable {
    case running
    case done
    case failed
}

/// The progress of a backup.
package struct BackupProgress: Hashable, Sendable {
    package var path: String
    package var state = MaintenanceState.running
    package var pagesCopied = 0
    /// The total number of pages, or 0 until the first ones have been copied.
    package var pages = 0
    /// The size of the file, once the backup is done.
    package var byteCount = 0
    /// The point in time that the backup reflects, or nil until it is done.
    package var takenAt: Timestamp?
    /// The reason, if the task failed.
    package var problem: String?
}

/// The progress of resealing values that were sealed with older key versions.
package struct ResealProgress: Codable, Hashable, Sendable {
    /// The currently active key version.
    package var version: UInt32
    /// The state of the task.
    ///
    /// A failed pass is retried.
    package var state = MaintenanceState.running
    package var walletsDone = 0
    package var wallets = 0
    /// The reason, if the task failed.
    package var problem: String?
}

/// The progress of creating next shares for all wallets.
package struct ShareRefreshProgress: Codable, Hashable, Sendable {
    /// The state of the task.
    ///
    /// A failed pass is retried.
    package var state = MaintenanceState.running
    package var walletsDone = 0
    package var wallets = 0
    /// The reason, if the task failed.
    package var problem: String?
}

/// A vault key version and how it is used.
package struct VaultKeyUsage: Hashable, Sendable {
    package var version: UInt32
    /// Whether the version seals new values.
    package var isActive: Bool
    /// The number of stored values sealed with the version.
    package var values: Int
    /// The time at which the version became active, or nil if unknown.
    package var activeSince: Timestamp?
    /// Whether the version is needed only for older backups.
    package var isRetirable: Bool
    /// Whether the root is in a module, or nil if the key file does not have the version.
    package var isInModule: Bool?
}

/// A request rejected by ``Maintenance``.
///
/// The text contains the reason and the next step. Requests can also throw store and vault errors.
package enum MaintenanceFailure: Error, Hashable, Sendable {
    /// The operation is not allowed and was not begun.
    case notAllowed(String)
    /// The key file could not be read or written, so the change may have been made.
    case unavailable(String)
}
