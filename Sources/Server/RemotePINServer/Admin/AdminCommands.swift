internal import Logging
internal import Vault
public import Vocabulary
internal import WalletStore
public import Wire

/// What operators can have a running server do.
///
/// Who reaches it has been let in by the socket's file permissions; nothing here asks again.
public struct AdminCommands: Sendable {
    /// Moves a lab's clock and says the new time; why not, in a sentence, where it throws.
    public typealias Advance = @Sendable (Duration) throws(AdminFailure) -> Timestamp

    let server: RemotePINServer
    var services: Services { self.server.services }
    /// Nil outside a lab, where no command moves time.
    private let advance: Advance?

    public init(of server: RemotePINServer, advance: Advance?) {
        self.server = server
        self.advance = advance
    }

    /// Does one command; what it started has happened when it returns.
    ///
    /// The one place through which every command passes: what is to be known of all of them, done or refused, is known
    /// here. Neither a command nor its result is ever logged as a whole; commands hold recovery codes.
    public func carryOut(_ command: AdminCommand) async -> AdminResult {
        do throws(AdminFailure) {
            let result = try await self.result(of: command)
            self.server.log.notice("admin command done", metadata: ["command": "\(command.logName)"])
            return result
        } catch {
            self.server.log.notice(
                "admin command refused",
                metadata: ["command": "\(command.logName)", "reason": "\(error.sentence)"]
            )
            return .failed(error)
        }
    }

    private func result(of command: AdminCommand) async throws(AdminFailure) -> AdminResult {
        switch command {
        case .advanceClock(let duration): .clockAdvanced(now: try await self.advanceClock(by: duration))
        case .showWallet(let wallet): .wallet(try await self.report(of: wallet))
        case .revokeWallets(let wallets): try await self.revoke(wallets)
        case .revokeRecoveryCode(let code): .recoveryCodeRevoked(try await self.revoke(code))
        case .revokeSolution: try await self.setSolutionRevoked(true)
        case .restoreSolution: try await self.setSolutionRevoked(false)
        case .listDenied(let after, let limit): .deniedPage(try await self.denied(after: after, limit: limit))
        case .showDenied(let name): .denied(try await self.denied(name))
        case .removeDenied(let name): .denied(try await self.removeDenied(name))
        case .listFlags: .flags(self.flags())
        case .setFlag(let flag, let rollout): .flags(try await self.set(flag, to: rollout))
        case .showUpdatePolicy: .updatePolicy(self.updatePolicy())
        case .setUpdatePolicy(let platforms, let rules):
            .updatePolicy(try await self.setUpdatePolicy(of: platforms, to: rules))
        case .clearUpdatePolicy(let platforms): .updatePolicy(try await self.setUpdatePolicy(of: platforms, to: nil))
        case .unknown:
            throw AdminFailure(.unsupported, "This server does not know the command; is it older than the program?")
        }
    }

    private func advanceClock(by duration: Duration) async throws(AdminFailure) -> Timestamp {
        guard let advance else {
            throw AdminFailure(.notAllowed, "The clock of a server that is not a lab's cannot be moved.")
        }
        let now = try advance(duration)
        self.server.log.notice("clock advanced", metadata: ["byMs": "\(duration.milliseconds)"])
        await self.server.runDueTimers()
        return now
    }
}

extension AdminCommand {
    /// What the log calls it.
    fileprivate var logName: String {
        switch self {
        case .advanceClock: "clock advance"
        case .showWallet: "wallet show"
        case .revokeWallets: "revoke wallet"
        case .revokeRecoveryCode: "revoke recovery-code"
        case .revokeSolution: "revoke solution"
        case .restoreSolution: "restore solution"
        case .listDenied: "deny-list list"
        case .showDenied: "deny-list show"
        case .removeDenied: "deny-list remove"
        case .listFlags: "flags list"
        case .setFlag: "flags set"
        case .showUpdatePolicy: "update-policy show"
        case .setUpdatePolicy: "update-policy set"
        case .clearUpdatePolicy: "update-policy clear"
        case .unknown: "unknown"
        }
    }
}

/// A store's failure as a command's.
func administered<Result>(_ step: () async throws(StoreError) -> Result) async throws(AdminFailure) -> Result {
    do throws(StoreError) {
        return try await step()
    } catch {
        switch error {
        case .unavailable:
            throw AdminFailure(.unavailable, "The store did not take it: its disk is full, or the server is stopping.")
        case .corrupt: throw AdminFailure(.internal, "The store holds what this server did not write.")
        }
    }
}

extension AdminFailure {
    /// A vault's failure as a command's.
    init(_ error: VaultError) {
        switch error {
        case .unreachable: self.init(.unavailable, "The vault did not answer.")
        case .notOurs:
            self.init(.internal, "The vault does not open what the store holds; is its key file the right one?")
        }
    }
}
