internal import ArgumentParser
internal import HostSystem
internal import Secrets
internal import Vocabulary
internal import Wire

/// Ends wallets.
struct AdminRevoke: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "revoke",
        abstract: "Revoke wallets, a recovery code, or the whole solution.",
        subcommands: [Wallets.self, Code.self, Solution.self]
    )

    /// Ends wallets by their ids.
    struct Wallets: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "wallet",
            abstract: "End wallets for good: all that are named, or none.",
            discussion: """
                The shares that their data needs are destroyed, their sessions are told at their next call, and their \
                devices may register anew. It cannot be taken back. A wallet that has ended already stays as it is, so \
                giving the command again is safe. Where one id is unknown, nothing is done (exit status 67).

                  remote-pin-server admin revoke wallet 3f9c01… 71aa20… --lab /tmp/lab
                """
        )

        @Argument(help: ArgumentHelp("The wallets, 32 hexadecimal digits each.", valueName: "wallet"))
        var wallets: [String]

        @OptionGroup var server: ServerOptions
        @OptionGroup var output: OutputOptions

        func validate() throws { _ = try self.parsed() }

        private func parsed() throws -> [WalletID] {
            var wallets: [WalletID] = []
            for text in self.wallets {
                let wallet = try walletID(text)
                if !wallets.contains(wallet) { wallets.append(wallet) }
            }
            guard wallets.count <= Wire.AdminCommand.mostWallets else {
                throw ValidationError("At most \(Wire.AdminCommand.mostWallets) wallets at a time; nothing was done.")
            }
            return wallets
        }

        func run() async throws {
            let wallets = try self.parsed()
            try await ending {
                guard case .walletsRevoked(let now, let before) = try await self.server.call(.revokeWallets(wallets))
                else { throw StartFailure.unexpectedAnswer }
                self.output.print(WalletsJSON(revoked: now, alreadyRevoked: before)) { page in
                    let earlier = before == 0 ? "" : "; \(before) had been before"
                    page.line("\(now) \(now == 1 ? "wallet is" : "wallets are") revoked\(earlier)")
                }
            }
        }
    }

    /// Ends wallets by their recovery code.
    struct Code: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "recovery-code",
            abstract: "Put a recovery code on the deny list and end the wallets that are linked to it.",
            discussion: """
                A wallet that is linked to the code later ends at that moment. The devices may not register anew. The \
                wallets stay revoked also when the code is taken off the list (admin deny-list remove).

                  remote-pin-server admin revoke recovery-code --lab /tmp/lab
                  remote-pin-server admin revoke recovery-code --code-fd 0 --lab /tmp/lab < code.txt
                """
        )

        @OptionGroup var code: RecoveryCodeOptions
        @OptionGroup var server: ServerOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            try await ending { try await self.server.deny(try self.code.read(), output: self.output) }
        }
    }

    /// Stops everything until it is restored.
    struct Solution: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "solution",
            abstract: "Revoke the whole solution: no wallet is opened or registered until it is restored.",
            discussion: """
                Everybody is locked out at once. Nothing is destroyed: `admin restore solution` takes it back. Asks to \
                type a phrase.

                  remote-pin-server admin revoke solution --lab /tmp/lab
                  remote-pin-server admin revoke solution --yes --lab /tmp/lab
                """
        )

        @Flag(help: "Do not ask; for scripts.")
        var yes = false

        @OptionGroup var server: ServerOptions
        @OptionGroup var output: OutputOptions

        private static let phrase = "revoke the solution"

        func run() async throws {
            try await ending {
                if !self.yes { try Phrase.ask(Self.phrase, because: "No wallet will open.") }
                try await self.server.setSolution(.revokeSolution, output: self.output)
            }
        }
    }

    private struct WalletsJSON: Encodable {
        let revoked: Int
        let alreadyRevoked: Int
    }
}

/// Takes back what can be taken back.
struct AdminRestore: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore",
        abstract: "Take the revocation of the solution back.",
        subcommands: [Solution.self]
    )

    /// Takes the solution's revocation back.
    struct Solution: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "solution",
            abstract: "Serve again after `revoke solution`.",
            discussion: """
                Wallets are as they were; those that were revoked for another reason stay so.

                  remote-pin-server admin restore solution --lab /tmp/lab
                """
        )

        @OptionGroup var server: ServerOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            try await ending { try await self.server.setSolution(.restoreSolution, output: self.output) }
        }
    }
}

extension ServerOptions {
    fileprivate struct SolutionJSON: Encodable {
        let revoked: Bool
        let changed: Bool
    }

    fileprivate func setSolution(_ command: Wire.AdminCommand, output: OutputOptions) async throws {
        guard case .solution(let isRevoked, let changed) = try await self.call(command) else {
            throw StartFailure.unexpectedAnswer
        }
        output.print(SolutionJSON(revoked: isRevoked, changed: changed)) { page in
            let state = isRevoked ? page.bad("revoked") : page.good("in service")
            page.line("the solution is \(state)\(changed ? "" : ", as it was before")")
        }
    }

    /// Puts a recovery code on the deny list, and ends its wallets.
    func deny(_ code: RecoveryCode, output: OutputOptions) async throws {
        guard case .recoveryCodeRevoked(let done) = try await self.call(.revokeRecoveryCode(code)) else {
            throw StartFailure.unexpectedAnswer
        }
        let json = DenialJSON(
            mac: "\(done.entry.mac)",
            deniedAt: done.entry.deniedAt.text,
            alreadyDenied: done.wasDenied,
            revoked: done.revoked
        )
        output.print(json) { page in
            let since =
                done.wasDenied ? "was on the deny list since \(done.entry.deniedAt.text)" : "is on the deny list"
            page.line("the recovery code \(since), as \(done.entry.mac)")
            page.line("\(done.revoked) \(done.revoked == 1 ? "wallet is" : "wallets are") revoked by it now")
        }
    }

    private struct DenialJSON: Encodable {
        let mac: String
        let deniedAt: String
        let alreadyDenied: Bool
        let revoked: Int
    }
}
