package import AdminProtocol
package import ArgumentParser
package import AuditLog
internal import RemotePINServer
internal import ServerSettings
package import Vocabulary
package import WalletStore

/// `revoke wallet`: permanently revokes all of the given wallets, or none if one of them is unknown.
package struct RevokeWallets: AdminCall {
    package static let name = AuditEvent.revokeWallets.rawValue
    package static let lane: AdminLane? = .store
    package static var commandLine: (any ParsableCommand.Type)? { Command.self }
    package var effect: AdminEffect { .change }
    package var role: AdminRole { self.wallets.count == 1 ? .support : .security }

    /// The ids, without duplicates.
    package var wallets: [WalletID]

    /// The number of wallets allowed in one command.
    package static let counts = 1...1000

    package init(_ wallets: [WalletID]) { self.wallets = wallets }

    package struct Reply: Codable, Hashable, Sendable {
        /// The number of wallets revoked by this command.
        package var revoked: Int
        /// The number of wallets that had already been revoked.
        ///
        /// They are left unchanged.
        package var alreadyRevoked: Int
        /// The servers for which the command waited; omitted for an embedded store.
        package var servers: Acknowledgements?
    }

    package func validate() throws(AdminFailure) {
        try self.wallets.count.mustBe(in: Self.counts, "wallets.count")
        guard Set(self.wallets).count == self.wallets.count else {
            throw AdminFailure(.malformed, "`wallets` names a wallet twice.")
        }
    }

    package func withSubject(
        in service: AdminService,
        _ body: (AuditSubject) async throws -> Reply
    ) async throws -> Reply {
        try await body(AuditSubject(wallets: self.wallets))
    }

    package func run(in service: AdminService) async throws -> Reply {
        let now = service.server.clock.now()
        let outcome: WalletsRevocationOutcome
        do throws(StoreError) {
            outcome = try await service.server.store.revoke(wallets: self.wallets, at: now)
        } catch {
            // Report them now, because a repeated command would find that these wallets are already revoked.
            if error == .notErased { try await service.settle(self.wallets, endedAt: now, by: .operator) }
            throw error
        }
        switch outcome {
        case .unknown(let unknown): throw AdminFailure.unknown(unknown)
        case .revoked(let ended, let before):
            let servers = try await service.settle(self.wallets, endedAt: ended > 0 ? now : nil, by: .operator)
            return Reply(revoked: ended, alreadyRevoked: before, servers: servers)
        }
    }

    package func auditResult(of reply: Reply) -> String { "\(reply.revoked) revoked, \(reply.alreadyRevoked) before" }

    private struct Command: CallCommand {
        static let configuration = CommandConfiguration(
            commandName: "wallet",
            abstract: "Revoke wallets permanently: all of them, or none.",
            discussion: """
                Destroys the shares without which the wallets' data cannot be decrypted. The devices may register \
                again. Returns after all servers of the store have closed the wallets' connections. A revocation \
                cannot be taken back. A wallet that is already revoked stays as it is, so repeating the command is \
                safe. If one id is unknown, nothing is done (exit status 67).

                  remote-pin-server admin revoke wallet 3f9c01… 71aa20… --lab /tmp/lab
                """
        )

        @Argument(
            help: ArgumentHelp("The wallets, 32 hexadecimal digits each.", valueName: "wallet"),
            transform: walletID
        )
        var wallets: [WalletID]

        @OptionGroup var options: CallOptions

        func validate() throws {
            guard Set(self.wallets).count <= RevokeWallets.counts.upperBound else {
                throw ValidationError("At most \(RevokeWallets.counts.upperBound) wallets at a time; nothing was done.")
            }
        }

        func call() -> RevokeWallets { RevokeWallets(self.wallets.once) }

        func draw(_ reply: Reply, on page: inout Page) {
            let earlier = reply.alreadyRevoked == 0 ? "" : "; \(reply.alreadyRevoked) already were"
            page.line("\(reply.revoked) \(reply.revoked == 1 ? "wallet is" : "wallets are") revoked\(earlier)")
            if let servers = reply.servers { page.line(servers.text) }
        }
    }
}
