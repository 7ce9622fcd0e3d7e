internal import AdminProtocol
internal import AttestationVerifier
internal import AuditLog
internal import ConfigText
internal import HostSystem
internal import LabFiles
internal import OperatorChannels
internal import PostgreSQLStore
internal import RemotePINServer
internal import ServerSettings
internal import StoreMaintenance
internal import Transport
internal import Vault
internal import Vocabulary
internal import WalletStore

/// The checks that `doctor` runs against one server.
///
/// Invariant: no check writes a file, takes a lock or sends a command, so `doctor` is safe to run at any time.
struct Examination {
    let settings: ServerSettings
    let files: CheckedFiles
    /// An entry that the audit log must contain.
    ///
    /// If nil, the newest mark in `log.file` is used.
    let last: AuditMark?
    /// The current time according to the server's clock.
    let now: Timestamp
    private(set) var findings: [Finding] = []

    init(_ loaded: LoadedSettings, last: AuditMark?) async {
        self.settings = loaded.settings
        var files = CheckedFiles(loaded)
        await files.openVault(loaded.settings)
        self.files = files
        self.last = last
        let clock = self.files.lab.flatMap(\.self).flatMap { try? FollowedLabClock(file: $0.clockFile) }
        self.now = clock?.now() ?? SystemClock().now()
    }

    var lab: LabFolder? { self.files.lab.flatMap(\.self) }
    var dataFolder: String { self.settings[SettingTable.dataFolder] }
    /// The process that is serving the store, or nil if the server is stopped.
    var holder: Int32? { FileLock.currentHolder("\(self.dataFolder)/lock") }

    mutating func add(_ finding: Finding) { self.findings.append(finding) }

    /// Runs all checks.
    mutating func run() async {
        let changed = self.settings.rows.count { $0.origin != .standard }
        self.add(.good(.configuration, "\(changed) settings differ from their defaults"))
        let holder = self.holder
        self.add(.good(.server, holder.map { "running as process \($0)" } ?? "stopped"))
        self.checkFiles()
        self.checkRights()
        self.checkCertificate()
        self.checkVault()
        await self.checkWitness()
        if self.files.database.flatMap(\.self) == nil { self.checkClock() }
        self.checkDescriptors(of: holder)
        self.checkDisk()
        if let database = self.files.database.flatMap(\.self) {
            await self.checkDatabase(database)
        } else {
            await self.checkStore()
        }
        await self.checkAudit()
        self.checkStatusList()
    }

    /// Reports the files that would make a start fail.
    private mutating func checkFiles() {
        for (part, error) in self.files.problems where part != .rights {
            let (check, cure) = Self.cure(of: part)
            self.add(.problem(check, "\(error)", cure: cure))
        }
        if !self.files.problems.contains(where: { $0.part == .hook }) {
            let hooks = [
                self.settings[SettingTable.hookProgram], self.settings[SettingTable.hookSocket],
            ].compactMap(\.self)
            self.add(.good(.hook, hooks.isEmpty ? "none is set" : hooks.joined(separator: ", ")))
        }
    }

    private static func cure(of part: CheckedFiles.Part) -> (Finding.Check, String) {
        switch part {
        case .lab: (.lab, "set `lab.folder` for a lab's own store only")
        case .clock: (.clock, "correct the lab's file; without it the offset is 0")
        case .rights: (.rights, "check for changes, then remove the permission")
        case .certificate:
            (
                .certificate,
                "install certificate, chain and key (mode 0600, owned by the server's user); run `admin reload`"
            )
        case .vault:
            (
                .vault,
                "install the newest copy of the key file, with mode 0600 and owned by the server's user; with "
                    + "`vault.socket`, start remote-pin-keys with the right token, or with one restored from the "
                    + "module's own backup: losing the module loses every wallet"
            )
        case .database: (.store, "correct the section `store`")
        case .devices: (.devices, "correct `android.roots` and `ios.roots`")
        case .statusList: (.statusList, "fetch the list again")
        case .hook: (.hook, "correct `hook.program`, or make the program executable")
        case .witness: (.witness, "correct `witness.program`, or make the program executable")
        case .roles: (.roles, "create the groups, or correct the section `admin`")
        }
    }

    private mutating func checkVault() {
        guard let vault = self.files.vault else { return }
        func list(_ versions: [UInt32]) -> String { versions.map { "\($0)" }.joined(separator: ", ") }
        let keys = "key versions \(list(vault.versions)); \(vault.activeVersion) seals"
        let inModule = vault.versions.filter { vault.isInModule($0) == true }
        guard !inModule.isEmpty else { return self.add(.good(.vault, keys)) }
        let warning = "losing the module loses every wallet, so keep the module's own backup"
        self.add(.good(.vault, "\(keys); in the module: \(list(inModule)); \(warning)"))
    }

    /// Reports files that every user can change, and files whose owner differs from the vault key's.
    private mutating func checkRights() {
        let problems = FileRights.problems(self.settings) + FileRights.foreignFiles(self.settings)
        for problem in problems { self.add(.problem(.rights, problem.text, cure: problem.cure)) }
        guard problems.isEmpty else { return }
        self.add(.good(.rights, "the server's files have one owner, and no other user can change them"))
    }

    private mutating func checkCertificate() {
        guard let tls = self.files.tls else { return }
        let faults = tls.faults(at: SystemClock().now())
        for (fault, problem) in zip(faults, ServerFiles.certificateProblems(tls, self.settings)) {
            let severity: Finding.Severity = fault.isFatal ? .problem : .warning
            self.add(Finding(check: .certificate, severity: severity, text: problem.text, cure: problem.cure))
        }
        guard faults.isEmpty, let expiry = tls.certificateExpiry else { return }
        self.add(.good(.certificate, "the chain is sound; expires on \(expiry.text)"))
    }

    /// Asks the witness for its record.
    ///
    /// Threat: the server's user owns the witness program. If root runs `doctor`, starting that program would give the
    /// server's user root's rights.
    private mutating func checkWitness() async {
        guard let witness = Witness(self.settings) else { return }
        guard !Drill.isMarked(self.dataFolder) else {
            return self.add(.good(.witness, "not asked about a drill's store"))
        }
        let owner = try? DurableFile.owner(of: self.settings[SettingTable.vaultKeyFile])
        guard self.settings[SettingTable.witnessProgram] == nil || owner == Accounts.currentUser else {
            return self.add(.good(.witness, "not asked: its program runs only as the server's user, with sudo -u"))
        }
        do throws(WitnessSilence) {
            // No witness changes its record for these numbers, which are the lowest possible.
            let record = try await witness.note(WitnessNumbers(generation: 0, step: 0))
            self.add(.good(.witness, "answers: generation \(record.generation ?? 0)"))
        } catch {
            let required = self.settings[SettingTable.witnessRequired]
            let text = "it does not answer (\(error))" + (required ? ", so the server cannot start" : "")
            let cure = "start the witness, or correct `witness.program` or `witness.socket`"
            self.add(Finding(check: .witness, severity: required ? .problem : .warning, text: text, cure: cure))
        }
    }

    private mutating func checkClock() {
        guard self.lab == nil else { return self.add(.good(.clock, "a lab's: \(self.now.text)")) }
        let clock = StartClock(self.settings, statusList: self.files.statusList.flatMap(\.self))
        guard let problem = clock.problem(at: self.now) else {
            return self.add(.good(.clock, "\(self.now.text), plausible by the times of the server's files"))
        }
        self.add(.problem(.clock, problem.text, cure: problem.cure))
    }

    /// Checks the limit on open files against the configured number of wallet connections.
    private mutating func checkDescriptors(of process: Int32?) {
        let budget = OpenFileBudget(self.settings)
        // A server raises its soft limit itself. For a stopped server, the hard limit of this shell is the best
        // estimate.
        let running = process.flatMap { OpenFiles.limit(of: $0) }
        let allowed = running ?? OpenFiles.limit.highest
        let place = running == nil ? "this shell" : "the server"
        do throws(Problem) {
            let left = try budget.connections(allowed: allowed)
            guard allowed < budget.needed else {
                return self.add(.good(.descriptors, "\(place) may open \(allowed) files; \(budget.needed) are needed"))
            }
            let text =
                "\(place) may open \(allowed) files, and `limits.connections` needs \(budget.needed), so wallets get "
                + "\(left) connections"
            self.add(.warning(.descriptors, text, cure: OpenFileBudget.cure))
        } catch {
            self.add(.problem(.descriptors, error.text, cure: error.cure))
        }
    }
}

// Checks of the disk, store, audit log, backups and status list.
extension Examination {
    /// With less free space than this, the server will soon be unable to write.
    private static let leastSpace = 100 << 20
    /// The server copies the write-ahead log into the store every few megabytes and starts it over.
    ///
    /// A log of this size means that it could not.
    private static let longestLog = 256 << 20
    /// Allows for a daily backup that takes a few hours.
    ///
    /// Anything older means that a backup was missed.
    private static let backupIsLate: Duration = .seconds(26 * 3600)
    private static let backupIsMissing: Duration = .seconds(7 * 86_400)

    mutating func checkDisk() {
        var folders = [self.dataFolder]
        for file in [self.settings[SettingTable.auditFile], self.settings[SettingTable.logFile]].compactMap(\.self) {
            folders.append(ConfigurationOptions.folder(of: file))
        }
        var seen: Set<String> = []
        for folder in folders where seen.insert(folder).inserted {
            guard let space = try? DiskSpace(of: folder) else { continue }
            let text = "\(folder) has \(Self.size(space.freeByteCount)) of \(Self.size(space.totalByteCount)) free"
            // Leave room for a copy of the store: rotating the vault keys rewrites every wallet through the write-ahead
            // log, and a purge does not shrink the file.
            guard !space.isReadOnly else {
                let cure = "look for errors of the disk in the kernel's log, and mount it for writing again"
                self.add(.problem(.disk, "\(folder) is on a read-only file system (EROFS)", cure: cure))
                continue
            }
            let store = folder == self.dataFolder ? (try? StoreFilesState(folder: folder))?.byteCount ?? 0 : 0
            let cure = "free some space or enlarge the volume: a full disk rejects PINs and revocations"
            if space.freeByteCount < Self.leastSpace || !space.hasFileNumbers {
                self.add(.problem(.disk, text + (space.hasFileNumbers ? "" : ", and no more files"), cure: cure))
            } else if space.freeByteCount < store {
                self.add(.warning(.disk, "\(text), less than the store takes", cure: cure))
            } else {
                self.add(.good(.disk, text))
            }
        }
    }

    mutating func checkStore() async {
        let store: StoreFilesState
        do throws(StoreOpenError) {
            store = try StoreFilesState(folder: self.dataFolder)
        } catch {
            let cure =
                switch error {
                case .missing: "mount its volume, or restore a backup with `remote-pin-server restore`"
                case .foreignFile: "remove the reason with the server stopped; nothing is served until then"
                case .files, .diskFull: "remove the reason, and run the doctor again"
                case .inUse: "stop that process"
                case .newerVersion: "install the newer server"
                case .backup: "run `remote-pin-server restore`"
                case .moved: "set `store.kind` to postgresql"
                case .damaged, .notAStore, .otherSchema:
                    "keep a copy of the data folder, then restore a backup with `remote-pin-server restore`"
                }
            return self.add(.problem(.store, "\(error)", cure: cure))
        }
        let log = store.logByteCount.map { "a write-ahead log of \(Self.size($0))" } ?? "no write-ahead log"
        let text = "version \(store.version), \(Self.size(store.byteCount)), \(log)"
        if store.version < SQLiteWalletStore.version {
            let next = "\(text); the next start upgrades it to version \(SQLiteWalletStore.version)"
            self.add(.warning(.store, next, cure: "make a backup first: an older server cannot open it afterwards"))
        } else if store.isLeftOpen {
            let crash = "\(text); the server did not stop in order, and nothing is missing"
            self.add(.warning(.store, crash, cure: "start the server, which takes over the log, or make a backup"))
        } else if let length = store.logByteCount, length > Self.longestLog {
            let cure = "look for errors of the disk in the kernel's log, and restart the server"
            self.add(.warning(.store, "\(text), which the server should have copied into the store", cure: cure))
        } else {
            self.add(.good(.store, text))
        }
        if Drill.isMarked(self.dataFolder) {
            let text = "the copy of a drill, which only `serve --drill` serves"
            self.add(.problem(.store, text, cure: Drill.wayOut))
        }
        self.checkMark(of: store)
        guard store.holder == nil, store.logByteCount == nil else { return }
        let differences = StoreFilesState.schemaDifferences(in: self.dataFolder, ofVersion: store.version)
        if !differences.isEmpty {
            let cure = "keep a copy of the data folder, then restore a backup (docs/backup.md#a-changed-schema)"
            let text = "another program changed the database: \(differences.joined(separator: "; "))"
            self.add(.problem(.store, text, cure: cure))
        }
        let findings = StoreFilesState.structureFindings(in: self.dataFolder)
        for finding in findings { self.add(.problem(.store, "damaged: \(finding)", cure: Self.restoreABackup)) }
        if findings.isEmpty, store.version == SQLiteWalletStore.version { await self.checkRecords() }
    }

    /// Compares a stopped store with the copy of its mark beside the audit log.
    private mutating func checkMark(of store: StoreFilesState) {
        let path = self.settings[SettingTable.auditFile]
        guard let generation = store.generation, let marked = try? MarkCopy.generation(besideAuditLog: path),
            generation < marked
        else { return }
        let older = OlderStore.mark(store: generation, mark: marked)
        self.add(.problem(.store, "\(older)", cure: older.wayOut))
    }

    private static let restoreABackup = "restore a backup with `remote-pin-server restore`"

    /// Verifies the attempt record of every wallet in a stopped store with the vault's key.
    private mutating func checkRecords() async {
        guard let key = self.files.vault.map({ RecordKey.derived(by: $0) }) else { return }
        var line = ProgressLine()
        defer { line.end() }
        let records: StoredRecords
        do {
            records = try StoredRecords(in: self.dataFolder, key: key) { line.show("\($0) attempt records verified") }
        } catch {
            return self.add(.problem(.store, "damaged: \(error)", cure: Self.restoreABackup))
        }
        if records.namesKey != true {
            guard records.genuine > 0 || records.namesKey == nil else {
                let cure = "install the copy of the key file that the store was used with"
                let text = "the store was used with another key `index` than that of `vault.key-file`"
                return self.add(.problem(.store, text, cure: cure))
            }
            self.add(.problem(.store, "its note of the vault's key `index` is damaged", cure: Self.restoreABackup))
        }
        guard !records.damaged.isEmpty || records.unreadable > 0 else {
            return self.add(.good(.store, "\(records.genuine) attempt records, all written by a server"))
        }
        let named = records.damaged.isEmpty ? [] : [records.damaged.named(atMost: 20)]
        let unnamed = records.unreadable == 0 ? [] : ["\(records.unreadable) rows without a wallet's id"]
        self.add(
            .problem(
                .store,
                "no server wrote the attempt records of \((named + unnamed).joined(separator: " and "))",
                cure: "end these wallets with `admin revoke wallet`, so that their users register again, or restore a "
                    + "backup with `remote-pin-server restore`"
            )
        )
    }

    /// Queries the state of the PostgreSQL database.
    mutating func checkDatabase(_ database: DatabaseSettings) async {
        let report: DatabaseReport
        do {
            report = try await database.report()
        } catch {
            return self.add(.problem(.store, "\(error)", cure: "then run `remote-pin-server store status`"))
        }
        for problem in report.problems {
            self.add(.problem(.store, problem.text, cure: "run `remote-pin-server store status` afterwards"))
        }
        let schema = report.schemaVersion.map { "schema \($0)" } ?? "no store"
        let text = "PostgreSQL \(report.version) at \(report.address), \(schema)"
        if let verifier = self.files.attestations,
            let fault = report.fault(for: ServerPolicy.values(self.settings, verifier))
        {
            return self.add(.problem(.store, "\(fault)", cure: Problem(fault).cure))
        }
        guard let fault = report.schemaFault else { return self.add(.good(.store, text)) }
        let known = DatabaseReport.knownSchemaVersion
        let cure = Problem(fault).cure
        self.add(.problem(.store, "\(text), and this program knows version \(known)", cure: cure))
    }

    /// Verifies the audit log and finds the last backup recorded in it.
    mutating func checkAudit() async {
        let path = self.settings[SettingTable.auditFile]
        guard let vault = self.files.vault else { return }
        for file in [path + ".lock", MarkCopy.path(besideAuditLog: path)] {
            do throws(FileError) { _ = try DurableFile.read(file, atMost: 1 << 10) } catch {
                guard case .odd = error else { continue }
                self.add(
                    .problem(.audit, "\(error)", cure: "put the file itself in its place; the server does not start")
                )
            }
        }
        guard AuditLog.exists(at: path) else {
            let cure = "if the server ran before, put the log back: without it revocations are lost"
            return self.add(.warning(.audit, "there is no \(path); the first start creates it", cure: cure))
        }
        // Read the mark before the log, because each mark is written after its entry.
        let mark: AuditMark?
        var backups = BackupHistory()
        let found: AuditVerification
        do {
            mark = try self.last ?? self.newestMark()
            found = try await AuditFileOptions.verified(path, vault: vault, last: mark) { entries in
                for entry in entries { backups.read(entry) }
            }
        } catch {
            return self.add(.problem(.audit, "\(error)", cure: "remove the reason, and run the doctor again"))
        }
        let count = "\(found.newest?.number ?? 0) entries"
        switch found.problem {
        case nil:
            let end = mark.map { "contains entry \($0.number) of the server's log" } ?? "pass --last to find a cut end"
            self.add(.good(.audit, "intact, \(count); \(end)"))
        case .tornTail(let line, _, _)?:
            let cure = "none is needed: the next start records it"
            self.add(.warning(.audit, "line \(line), the last one, is incomplete, as after a crash", cure: cure))
        case let problem?:
            let cure = "keep the file, put a copy back that contains the newest entry, and look for an intruder"
            self.add(.problem(.audit, "altered: \(problem)", cure: cure))
        }
        self.check(backups)
    }

    /// Returns the newest mark in the server's log, or nil if the log is not a file or has no mark near its end.
    private func newestMark() throws -> AuditMark? {
        let most = 1 << 20
        guard let path = self.settings[SettingTable.logFile],
            let file = try? AppendFile(reading: path, followingLinks: true), let length = try? file.byteCount(),
            let end = try? file.read(at: max(0, length - most), atMost: most)
        else { return nil }
        return try AuditMark(newestIn: end)
    }

    private mutating func check(_ backups: BackupHistory) {
        // A PostgreSQL database is backed up with its own tools, which leave no entry in the audit log.
        guard self.settings[SettingTable.storeKind] == .sqlite else { return }
        let cure = "run `remote-pin-server backup FILE`, and see that its timer runs"
        guard let made = backups.lastMade else {
            let text = "no backup is on record"
            return self.add(self.lab == nil ? .warning(.backup, text, cure: cure) : .good(.backup, text))
        }
        let age = self.now - made
        let text = "the last one was made \(age.spoken) ago"
        if age > Self.backupIsMissing {
            self.add(.problem(.backup, text, cure: cure))
        } else if let failure = backups.failure {
            let later = "\(text); a later one failed: \(failure.reason)"
            self.add(.warning(.backup, later, cure: "remove the reason and repeat it"))
        } else if age > Self.backupIsLate {
            self.add(.warning(.backup, text, cure: cure))
        } else {
            self.add(.good(.backup, text))
        }
    }

    /// Checks the age of the status list against its limit.
    ///
    /// Uses the system clock, even in a lab.
    mutating func checkStatusList() {
        guard let file = self.files.statusList else { return }
        guard let list = file?.current else {
            return self.add(.good(.statusList, "none is configured; revoked Android devices are not detected"))
        }
        let limit = self.settings[SettingTable.androidStatusListMaximumAge]
        let age = SystemClock().now() - list.fetched
        let text = "\(max(age, .zero).spoken) old, with \(list.count) certificates"
        let cure = "see that its timer runs, and fetch the list"
        if age > limit {
            let refused = self.settings[SettingTable.androidStaleStatusList] == .refuse
            let effect = refused ? "no Android device can register" : "devices revoked since can register"
            self.add(.problem(.statusList, "\(text), so \(effect)", cure: cure))
        } else if age > limit - min(.seconds(86_400), limit / 2) {
            self.add(.warning(.statusList, "\(text); it becomes stale in \((limit - age).spoken)", cure: cure))
        } else {
            self.add(.good(.statusList, text))
        }
    }

    /// Formats a byte count in the largest unit that fits.
    private static func size(_ byteCount: Int) -> String {
        for (unit, name) in [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")] where byteCount >= unit {
            return "\(byteCount / unit) \(name)"
        }
        return "\(byteCount) bytes"
    }
}
