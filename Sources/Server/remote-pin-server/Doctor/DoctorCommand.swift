internal import ArgumentParser
internal import AuditLog
internal import HostSystem
internal import ServerSettings

/// Checks a server and the machine it runs on.
struct DoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Check a server, running or stopped, and its machine; name each fault with its cure.",
        discussion: """
            Makes the checks of `check-config` and of a start, and others: owners and permissions, clock, open files, \
            certificate, disk space, store and write-ahead log, audit log, age of the last backup and of the status \
            list. It changes nothing and sends no command. A store's pages are read only while the server is stopped; \
            a running server checks them itself.

            The end of the audit log is compared with the newest mark in `log.file`, or with --last.

            Exit status: 0 no fault, 1 warnings, 2 problems (the convention of monitoring plugins), and 77 if this \
            user may not read the server's files.

              sudo -u remote-pin remote-pin-server doctor \\
                --config /etc/remote-pin/server.yaml
              remote-pin-server doctor --json /tmp/lab |
                jq '.findings[] | select(.severity != "good")'
            """
    )

    @OptionGroup var options: ConfigurationOptions

    @Option(
        help: ArgumentHelp("An entry that the audit log must contain, from the server's log.", valueName: "mark"),
        transform: auditMark
    )
    var last: AuditMark?

    @OptionGroup var output: OutputOptions

    func run() async throws {
        try await ending {
            let findings = try await self.findings()
            let worst =
                Finding.Severity.allCases.last { severity in findings.contains { $0.severity == severity } } ?? .good
            let json: JSONObject = ["worst": worst, "findings": findings]
            self.output.print(json) { page in
                let rows = findings.map { finding in
                    let text = finding.text + (finding.cure.map { "\n\(Self.indent)cure: \($0)" } ?? "")
                    let state = finding.severity.rawValue
                    return [finding.check.rawValue, finding.severity == .good ? state : page.bad(state), text]
                }
                page.table(["CHECK", "STATE", "FINDING"], rows)
            }
            if worst != .good { throw ExitCode(worst.exitStatus) }
        }
    }

    private static let indent = String(repeating: " ", count: 4)

    private func findings() async throws -> [Finding] {
        // If the file cannot be read, every check would report the same problem.
        try Self.requireReadable(try self.options.path())
        let loaded: LoadedSettings
        do {
            loaded = try self.options.settings()
        } catch let failure as StartFailure where failure.kind == .configuration {
            let cure = "correct the file; `remote-pin-server settings` explains every setting"
            return [.problem(.configuration, failure.description, cure: cure)]
        }
        try Self.requireReadable(loaded.settings[SettingTable.vaultKeyFile])
        var examination = await Examination(loaded, last: self.last)
        await examination.run()
        return examination.findings
    }

    /// Fails if this user is not allowed to read the file.
    ///
    /// Any other fault is left to the checks.
    private static func requireReadable(_ file: String) throws {
        do throws(FileError) {
            _ = try DurableFile.read(file, atMost: 1 << 20)
        } catch .notAllowed(let path, errno: _) {
            throw StartFailure(
                .notAllowed,
                "this user may not read \(path); run the doctor with sudo -u, as the server's user"
            )
        } catch {}
    }
}

/// Parses an audit log mark from a command-line argument.
func auditMark(_ text: String) throws -> AuditMark {
    guard let mark = AuditMark(text) else {
        throw ValidationError("`\(text)` is not a mark: NUMBER:MAC, as in the server's log.")
    }
    return mark
}

/// The result of one `doctor` check.
struct Finding: Encodable, Sendable {
    /// The severity of a finding.
    ///
    /// Its raw value appears in the output, and its exit status follows monitoring plugins.
    enum Severity: String, Encodable, Sendable, CaseIterable {
        case good, warning, problem

        var exitStatus: Int32 {
            switch self {
            case .good: 0
            case .warning: 1
            case .problem: 2
            }
        }
    }

    /// The subject of a check, in output order.
    enum Check: String, Encodable, Sendable, CaseIterable {
        case configuration, server, lab, rights, certificate, vault, devices, hook, witness, roles, clock, descriptors,
            disk
        case store, audit, backup
        case statusList = "status-list"
    }

    let check: Check
    let severity: Severity
    let text: String
    /// The operator's next step, or nil if the finding is good.
    let cure: String?

    static func good(_ check: Check, _ text: String) -> Finding {
        Finding(check: check, severity: .good, text: text, cure: nil)
    }

    static func warning(_ check: Check, _ text: String, cure: String) -> Finding {
        Finding(check: check, severity: .warning, text: text, cure: cure)
    }

    static func problem(_ check: Check, _ text: String, cure: String) -> Finding {
        Finding(check: check, severity: .problem, text: text, cure: cure)
    }
}
