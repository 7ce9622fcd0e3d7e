internal import ArgumentParser
internal import AuditLog
internal import HostSystem
internal import LabFiles
internal import OperatorChannels
internal import ServerSettings
internal import StoreMaintenance
internal import Vault
internal import Vocabulary
internal import WalletStore

/// Options that select the server for commands that require it to be stopped.
struct StoppedServerOptions: ParsableArguments {
    @Option(help: ArgumentHelp("A lab's folder.", valueName: "dir"), completion: .directory)
    var lab: String?

    @Option(
        help: ArgumentHelp("The server's configuration.", valueName: "file"),
        completion: .file(extensions: ["yaml"])
    )
    var config: String?

    func validate() throws {
        guard self.lab == nil || self.config == nil else { throw ValidationError("Name one of --lab and --config.") }
    }

    /// Loads the settings of the server, with these flags.
    func loaded(with flags: [String] = []) throws -> LoadedSettings {
        try ConfigurationOptions.settings(of: self.lab, config: self.config, with: flags)
    }

    func server(with flags: [String] = []) async throws -> StoppedServer {
        try await StoppedServer(self.loaded(with: flags))
    }
}

/// The settings, vault and clock of a stopped server.
struct StoppedServer {
    let settings: ServerSettings
    let vault: KeyFileVault
    let clock: any WallClock

    init(_ loaded: LoadedSettings) async throws {
        self.settings = loaded.settings
        self.vault = try await KeyFileVault.open(loaded.settings)
        self.clock = try LabBoundary.clock(of: try LabBoundary.lab(of: loaded))
    }

    /// Rejects a PostgreSQL store for a command that works on store files.
    func requireEmbeddedStore() throws {
        guard self.settings[SettingTable.storeKind] != .sqlite else { return }
        throw StartFailure(
            .notAllowed,
            "`store.kind` is postgresql: back the database up and restore it with its own tools (docs/cluster.md); "
                + "nothing was done"
        )
    }

    /// Opens the embedded store.
    func openStore(acceptingDamage: Bool) async throws -> SQLiteWalletStore {
        try self.requireEmbeddedStore()
        let key = RecordKey.derived(by: self.vault)
        return try EmbeddedStore(folder: self.dataFolder, key: key).openStopped(acceptingDamage: acceptingDamage)
    }

    var dataFolder: String { self.settings[SettingTable.dataFolder] }
    var auditPath: String { self.settings[SettingTable.auditFile] }

    /// Rejects users other than the server's.
    ///
    /// If root ran the command, the server could not use the files it creates. The vault key file has mode 0600, so
    /// only its owner can run the server.
    func requireItsUser(for command: String) throws {
        let file = self.settings[SettingTable.vaultKeyFile]
        let owner = try explaining(.configuration) { try DurableFile.owner(of: file) }
        guard owner != Accounts.currentUser else { return }
        let name = Accounts.userName(of: owner) ?? "#\(owner)"
        throw StartFailure(
            .notAllowed,
            "the server's files belong to \(name), who could not use the files of this command; run it as that user: "
                + "sudo -u '\(name)' remote-pin-server \(command) …"
        )
    }

    /// The user running the command.
    var actor: AuditActor {
        AuditActor.user(Accounts.currentUser, name: Accounts.userName(of: Accounts.currentUser))
    }

    /// The epoch of a store, if a later epoch has begun since.
    struct EarlierEpoch {
        /// The latest epoch in the audit log.
        let latest: Int
        /// The audit entry after which the store's epoch began.
        let beginning: AuditMark
        /// The time at which the next epoch began.
        ///
        /// This store has served no wallet since.
        let end: Timestamp
    }

    /// Determines from the audit log whether a later epoch followed the store's.
    ///
    /// Returns nil if not. Rejects a log that does not reach back to the beginning of the store's epoch, because any
    /// revocations missing from it would be undone.
    func earlierEpoch(_ epoch: Int) async throws -> EarlierEpoch? {
        guard AuditLog.exists(at: self.auditPath) else { return nil }
        let found = try await self.verifiedAudit(beginningOf: epoch)
        guard let later = found.newestEpoch, later > epoch else { return nil }
        guard let beginning = found.beginning, let end = found.supersededAt else {
            throw StartFailure(AuditLogError.otherEpoch(self.auditPath, log: later, store: epoch))
        }
        return EarlierEpoch(latest: later, beginning: beginning, end: end)
    }

    /// An entry that no log contains.
    ///
    /// A restore of a backup that names it reports that revocations may be missing, and repeats all that are on record.
    static let noEntry = AuditMark(number: 1, mac: "0-" + String(repeating: "0", count: 64))

    /// The entry after which an epoch began, or ``noEntry`` if the log does not reach back that far.
    func beginning(of epoch: Int) async throws -> AuditMark {
        guard AuditLog.exists(at: self.auditPath) else { return Self.noEntry }
        return try await self.verifiedAudit(beginningOf: epoch).beginning ?? Self.noEntry
    }

    private func verifiedAudit(beginningOf epoch: Int) async throws -> AuditVerification {
        do throws(FileError) {
            return try await AuditReader(self.auditPath, vault: self.vault).verify(beginningOf: epoch)
        } catch {
            throw StartFailure(AuditLogError.file(error))
        }
    }

    /// Returns a function that sends each audit entry to the log service.
    ///
    /// It does nothing if no service is configured.
    func exporting() throws -> @Sendable (AuditEntry, [UInt8]) -> Void {
        try AuditExporter(self.settings) { StandardStreams.writeError("\($0)\n") }.send
    }

    /// Opens the audit log to append entries for this epoch.
    ///
    /// - Parameters:
    ///   - store: The store of several servers, which names an entry of this log, and takes each newest one.
    ///   - name: This server's name among them.
    func openAudit(epoch: Int, of store: (any ServedStore)? = nil, as name: String? = nil) async throws -> AuditLog {
        var parts = AuditLog.Parts(path: self.auditPath, vault: self.vault, clock: self.clock, epoch: epoch) { newest in
            StandardStreams.writeError("audit log newest=\(newest)\n")
            store?.announce(StoredAuditMark(newest))
        }
        parts.onFatal = { reason in
            StandardStreams.writeError("remote-pin-server: \(reason)\n")
            ProcessEnd.atOnce(status: StartFailure.Kind.operatorMustAct.rawValue)
        }
        parts.onWritten = try self.exporting()
        // Another server's command may have opened the epoch.
        (parts.server, parts.opensEpoch) = (name, store?.isShared ?? false)
        parts.generation = { store?.generation }
        parts.last = try await store?.auditMark().map { AuditMark($0) }
        guard parts.last == nil || AuditLog.exists(at: self.auditPath) else {
            throw StartFailure(
                .operatorMustAct,
                "`audit.file`: there is no \(self.auditPath), but the store names an entry of it. Put the log back"
            )
        }
        var check = StartCheck(after: parts.last)
        let audit: AuditLog
        do throws(AuditLogError) {
            // A server that never ran has no audit log yet.
            if !AuditLog.exists(at: self.auditPath) { try await AuditLog.create(parts) }
            audit = try await AuditLog.open(parts) { check.read($0) }
        } catch {
            throw StartFailure(error)
        }
        if let store { try await Self.check(check, store, audit) }
        return audit
    }

    /// Rejects a store that lacks changes recorded in the log.
    ///
    /// Threat: a commit in such a store would fill the gap in the numbers that shows how many commits the store lacks.
    private static func check(_ check: StartCheck, _ store: any ServedStore, _ audit: AuditLog) async throws {
        do {
            try await check.check(store)
        } catch {
            await audit.close()
            guard let error = error as? OlderStore else { throw error }
            throw await StoreChecks.failure(error, of: store)
        }
    }
}

extension StartFailure {
    /// Converts an error that prevents the use of an audit log.
    init(_ error: AuditLogError) {
        let kind: Kind =
            switch error {
            case .inUse: .unavailable
            // rule: programs-damaged-log-restarted
            case .damaged, .otherEpoch, .lacksEntry, .file(.odd): .operatorMustAct
            case .file, .closed, .tooLong: .files
            }
        self.init(kind, "`audit.file`: \(error)")
    }
}
