internal import ArgumentParser
internal import Vocabulary
internal import Wire

/// The recovery codes that no wallet may be linked to.
struct AdminDenyList: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "deny-list",
        abstract: "Recovery codes that revoke every wallet that is linked to them.",
        discussion: """
            The server keeps no code, only the vault's MAC of each, from which nobody finds the code; a code that \
            somebody has can be looked up.
            """,
        subcommands: [List.self, Show.self, Add.self, Remove.self],
        defaultSubcommand: List.self
    )

    /// Lists the MACs.
    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list",
            abstract: "List the codes' MACs and since when each is denied.",
            discussion: """
                `admin deny-list` alone lists; its other commands are show, add and remove.

                  remote-pin-server admin deny-list --lab /tmp/lab
                  remote-pin-server admin deny-list show --help
                """
        )

        @OptionGroup var server: ServerOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            try await ending {
                let entries = try await self.server.connected { call in
                    var entries: [DeniedEntry] = []
                    while true {
                        let command = Wire.AdminCommand.listDenied(
                            after: entries.last?.mac,
                            limit: Wire.AdminCommand.mostDenied
                        )
                        guard case .deniedPage(let page) = try await call(command) else {
                            throw StartFailure.unexpectedAnswer
                        }
                        entries += page.entries
                        if !page.hasMore || page.entries.isEmpty { return entries }
                    }
                }
                let json = ListJSON(entries: entries.map { .init(mac: "\($0.mac)", deniedAt: $0.deniedAt.text) })
                self.output.print(json) { page in
                    if entries.isEmpty { return page.line("the deny list is empty") }
                    page.table(["MAC", "DENIED"], entries.map { ["\($0.mac)", $0.deniedAt.text] })
                }
            }
        }
    }

    /// Says whether a code is on the list.
    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "show",
            abstract: "Say whether a code is on the list; exit status 1 where it is not.",
            discussion: """
                  remote-pin-server admin deny-list show --lab /tmp/lab
                  remote-pin-server admin deny-list show --mac 5be0… --lab /tmp/lab
                """
        )

        @OptionGroup var name: DeniedNameOptions
        @OptionGroup var server: ServerOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            try await ending {
                guard case .denied(let report) = try await self.server.call(.showDenied(try self.name.read())) else {
                    throw StartFailure.unexpectedAnswer
                }
                let json = EntryJSON(
                    mac: "\(report.mac)",
                    denied: report.deniedAt != nil,
                    deniedAt: report.deniedAt?.text
                )
                self.output.print(json) { page in
                    page.line(
                        report.deniedAt.map { "denied since \($0.text), as \(report.mac)" } ?? "not on the deny list"
                    )
                }
                if report.deniedAt == nil { throw ExitCode(StartFailure.Kind.notDone.rawValue) }
            }
        }
    }

    /// Puts a code on the list.
    struct Add: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "add",
            abstract: "The same as `admin revoke recovery-code`.",
            discussion: """
                A code cannot be denied and its wallets stay: putting it on the list ends them, in one step.

                  remote-pin-server admin deny-list add --lab /tmp/lab
                """
        )

        @OptionGroup var code: RecoveryCodeOptions
        @OptionGroup var server: ServerOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            try await ending { try await self.server.deny(try self.code.read(), output: self.output) }
        }
    }

    /// Takes a code off the list.
    struct Remove: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "remove",
            abstract: "Let wallets be linked to a code again; those that it revoked stay revoked.",
            discussion: """
                Exit status 1 where the code was not on the list.

                  remote-pin-server admin deny-list remove --code-file code.txt --lab /tmp/lab
                  remote-pin-server admin deny-list remove --mac 5be0… --lab /tmp/lab
                """
        )

        @OptionGroup var name: DeniedNameOptions
        @OptionGroup var server: ServerOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            try await ending {
                guard case .denied(let report) = try await self.server.call(.removeDenied(try self.name.read())) else {
                    throw StartFailure.unexpectedAnswer
                }
                self.output.print(RemovedJSON(mac: "\(report.mac)", removed: report.deniedAt != nil)) { page in
                    page.line(
                        report.deniedAt == nil ? "it was not on the deny list" : "off the deny list: \(report.mac)"
                    )
                }
                if report.deniedAt == nil { throw ExitCode(StartFailure.Kind.notDone.rawValue) }
            }
        }
    }

    private struct ListJSON: Encodable {
        let entries: [Entry]

        struct Entry: Encodable {
            let mac: String
            let deniedAt: String
        }
    }

    private struct EntryJSON: Encodable {
        let mac: String
        let denied: Bool
        let deniedAt: String?
    }

    private struct RemovedJSON: Encodable {
        let mac: String
        let removed: Bool
    }
}

/// A recovery code, or its MAC as the list shows it.
struct DeniedNameOptions: ParsableArguments {
    @OptionGroup var code: RecoveryCodeOptions

    @Option(help: ArgumentHelp("The code's MAC as the list shows it, instead of the code.", valueName: "mac"))
    var mac: String?

    func validate() throws { _ = try self.parsedMAC() }

    private func parsedMAC() throws -> RecoveryCodeMAC? {
        guard let mac else { return nil }
        guard self.code.isEmpty else { throw ValidationError("Give the code or its MAC, not both.") }
        guard let value = RecoveryCodeMAC(hex: mac) else {
            throw ValidationError("`\(mac)` is no MAC: 64 hexadecimal digits, as the list shows them.")
        }
        return value
    }

    func read() throws -> DeniedName {
        if let mac = try self.parsedMAC() { return .mac(mac) }
        return .code(try self.code.read())
    }
}
