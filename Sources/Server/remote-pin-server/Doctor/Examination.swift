internal import AdminProtocol
internal import AuditLog
internal import ConfigText
internal import HostSystem
internal import LabFiles
internal import RemotePINServer
internal import ServerCommandLine
internal import ServerSettings
internal import Transport
internal import Vault
internal import Vocabulary
internal import Witness

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

    init(_ loaded: LoadedSettings, last: AuditMark?) {
        self.settings = loaded.settings
        self.files = CheckedFiles(loaded)
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
        if let vault = self.files.vault {
            let versions = vault.versions.map { "\($0)" }.joined(separator: ", ")
            self.add(.good(.vault, "key versions \(versions); \(vault.activeVersion) seals"))
        }
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
        case .vault: (.vault, "install the newest copy of the key file, with mode 0600 and owned by the server's user")
        case .vaultCount: (.vault, "correct the file that it names; the key file is not the cause")
        case .database: (.store, "correct the section `store`")
        case .devices: (.devices, "correct `android.roots` and `ios.roots`")
        case .statusList: (.statusList, "fetch the list again")
        case .hook: (.hook, "correct `hook.program`, or make the program executable")
        case .witness: (.witness, "correct `witness.program`, or make the program executable")
        case .roles: (.roles, "create the groups, or correct the section `admin`")
        }
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
