internal import AdminProtocol
package import ArgumentParser
package import AuditLog
internal import HostSystem
internal import Logging
internal import RemotePINServer
internal import Secrets
internal import ServerSettings
package import Vocabulary
package import WalletStore

/// `revoke recovery-code`: adds the code to the deny list and permanently revokes the wallets linked to it.
///
/// A wallet linked to the code later is revoked at that point.
package struct RevokeRecoveryCode: AdminCall {
    package static let name = AuditEvent.revokeRecoveryCode.rawValue
    package static let lane: AdminLane? = .store
    package static var commandLine: (any ParsableCommand.Type)? { Command.self }
    package var effect: AdminEffect { .change }

    package var code: RecoveryCode

    package init(_ code: RecoveryCode) { self.code = code }

    package struct Reply: Codable, Hashable, Sendable {
        package var mac: RecoveryCodeMAC
        package var deniedAt: Timestamp
        /// Whether the code was already on the list.
        package var alreadyDenied: Bool
        /// The number of wallets revoked by this command.
        package var revoked: Int
        /// The number of wallets linked to the code, revoked now or before.
        package var linked: Int
        /// All linked wallets, for the audit log only: another server may have linked one since the entry was begun.
        package var wallets: Set<WalletID> = []
        /// The servers for which the command waited, or nil for an embedded store.
        package var servers: Acknowledgements?

        private enum CodingKeys: CodingKey {
            case mac, deniedAt, alreadyDenied, revoked, linked, servers
        }
    }

    /// Names the linked wallets, so that restoring an older backup revokes them again.
    ///
    /// From then on, no wallet can be linked to the code until the command has finished.
    package func withSubject(
        in service: AdminService,
        _ body: (AuditSubject) async throws -> Reply
    ) async throws -> Reply {
        let (server, mac) = (service.server, try DeniedName.code(self.code).mac(in: service))
        return try await server.recoveryCodeLocks.withLock(mac) {
            let wallets = try await server.store.wallets(linkedTo: mac)
            return try await body(AuditSubject(wallets: wallets, recoveryCode: mac))
        }
    }

    package func run(in service: AdminService) async throws -> Reply {
        let (server, now) = (service.server, service.server.clock.now())
        let mac = try DeniedName.code(self.code).mac(in: service)
        let outcome: RecoveryCodeRevocationOutcome
        do throws(StoreError) {
            outcome = try await server.store.revoke(recoveryCode: mac, at: now)
        } catch {
            if [.notErased, .corrupt].contains(error), let linked = try? await server.store.wallets(linkedTo: mac) {
                server.log.notice("recovery code denied")
                try await service.settle(linked, endedAt: now, by: .recoveryCode)
            }
            throw error
        }
        server.log.notice("recovery code denied", metadata: ["walletsRevoked": "\(outcome.ended)"])
        let servers = try await service.settle(
            outcome.linked,
            endedAt: outcome.ended > 0 ? now : nil,
            by: .recoveryCode
        )
        return Reply(
            mac: mac,
            deniedAt: outcome.deniedAt,
            alreadyDenied: outcome.wasDenied,
            revoked: outcome.ended,
            linked: outcome.linked.count,
            wallets: outcome.linked,
            servers: servers
        )
    }

    package func auditedWallets(of reply: Reply) -> Set<WalletID> { reply.wallets }

    package func auditResult(of reply: Reply) -> String {
        "\(reply.revoked) revoked" + (reply.alreadyDenied ? ", was on the list" : "")
    }

    private struct Command: RevokeRecoveryCodeCommand {
        static let configuration = CommandConfiguration(
            commandName: "recovery-code",
            abstract: "Put a recovery code on the deny list and revoke the wallets that are linked to it.",
            discussion: """
                A wallet that is linked to the code later is revoked at that moment. The devices may not register \
                again. The wallets stay revoked even if the code is taken off the list (admin deny-list remove). \
                Blanks and line ends around the code are ignored; upper and lower case differ. The exit status is 80 \
                if no wallet is linked to the code: it is denied all the same, but may be mistyped.

                  remote-pin-server admin revoke recovery-code --lab /tmp/lab
                  remote-pin-server admin revoke recovery-code --code-fd 0 \\
                    --lab /tmp/lab < code.txt
                """
        )

        @OptionGroup var code: RecoveryCodeOptions
        @OptionGroup var options: CallOptions
    }
}

/// `deny-list add`: an alias of `revoke recovery-code`.
struct AddDenied: RevokeRecoveryCodeCommand {
    static let configuration = CommandConfiguration(
        commandName: "add",
        abstract: "The same as `admin revoke recovery-code`.",
        discussion: """
            A code is never denied without its wallets: the command that puts it on the list revokes them, too.

              remote-pin-server admin deny-list add --lab /tmp/lab
            """
    )

    @OptionGroup var code: RecoveryCodeOptions
    @OptionGroup var options: CallOptions
}

private protocol RevokeRecoveryCodeCommand: CallCommand where Call == RevokeRecoveryCode {
    var code: RecoveryCodeOptions { get }
}

extension RevokeRecoveryCodeCommand {
    func call() throws -> RevokeRecoveryCode { RevokeRecoveryCode(try self.code.read()) }

    func draw(_ reply: RevokeRecoveryCode.Reply, on page: inout Page) {
        let since = reply.alreadyDenied ? "was on the deny list since \(reply.deniedAt.text)" : "is on the deny list"
        page.line("the recovery code \(since), as \(reply.mac)")
        page.line("\(reply.revoked) \(reply.revoked == 1 ? "wallet is" : "wallets are") revoked by it now")
        if reply.linked == 0 {
            page.line(
                "no wallet is linked to it: compare the code with the issuer's; upper and lower case differ. If it is "
                    + "wrong, remove it with `admin deny-list remove --mac \(reply.mac)`"
            )
        }
        if let servers = reply.servers { page.line(servers.text) }
    }

    func exitStatus(after reply: RevokeRecoveryCode.Reply) -> StartFailure.Kind? {
        reply.linked == 0 ? .noLinkedWallet : nil
    }
}

/// Options for the source of a recovery code: a prompt, a file descriptor, a file, or the command line.
///
/// A code identifies a person, and any process on the machine can read other processes' arguments. Passing a code as an
/// argument is therefore only meant for test codes.
struct RecoveryCodeOptions: ParsableArguments {
    @Argument(
        help: ArgumentHelp(
            "The code; the default is to ask for it. Every process of this machine can read an argument.",
            valueName: "code"
        )
    )
    var code: String?

    @Option(
        help: ArgumentHelp("Read the code from a line of this descriptor; 0 is standard input.", valueName: "number")
    )
    var codeFd: Int32?

    @Option(help: ArgumentHelp("Read the code from a file with one line.", valueName: "file"), completion: .file())
    var codeFile: String?

    /// Whether no source was given, so that the operator would be prompted.
    var isEmpty: Bool { self.code == nil && self.codeFd == nil && self.codeFile == nil }

    func validate() throws {
        guard [self.code != nil, self.codeFd != nil, self.codeFile != nil].filter(\.self).count <= 1 else {
            throw ValidationError("Give the code once: as an argument, with --code-fd or with --code-file.")
        }
    }

    /// Reads the code, prompting the operator if necessary.
    ///
    /// All sources are read in the same way. Otherwise, a line end that belongs to the file would make another code,
    /// and the command would revoke no wallet.
    func read() throws -> RecoveryCode {
        let input: [UInt8]
        if let code {
            input = Array(code.utf8)
        } else if let codeFile {
            input = try explaining(.files) { try InputFile.read(codeFile, atMost: Self.longestInput) }
        } else {
            input = try self.line()
        }
        return try mapError(RecoveryCode(reading: input)) { (problem: SecretTextProblem) in
            StartFailure(.usage, "the recovery code \(problem)")
        }
    }

    /// Room for blanks around the longest code.
    private static let longestInput = 4096

    private func line() throws -> [UInt8] {
        func copy(_ line: RawSpan) -> [UInt8] { (0..<line.byteCount).map { line.byte(at: $0) } }
        do throws(InputError) {
            if let codeFd { return try LineInput.withTextLine(from: codeFd, atMost: Self.longestInput, copy) }
            return try Terminal.withHiddenLine(prompt: "Recovery code: ", atMost: Self.longestInput, copy)
        } catch {
            switch error {
            case .notATerminal:
                throw StartFailure(
                    .usage,
                    "a recovery code is needed and there is no terminal to ask at: use --code-fd 0 or --code-file FILE"
                )
            case .tooLong: throw StartFailure(.usage, "the code's line is longer than \(Self.longestInput) bytes")
            case .ended where self.codeFd != nil:
                throw StartFailure(.usage, "the descriptor of --code-fd has no recovery code; nothing was done")
            case .ended, .interrupted: throw StartFailure(.notDone, "no code was entered; nothing was done")
            case .failed: throw StartFailure(.usage, "the code cannot be read")
            }
        }
    }
}
