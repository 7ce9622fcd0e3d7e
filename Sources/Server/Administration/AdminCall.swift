package import ArgumentParser
package import AuditLog
package import AdminProtocol

/// A command of an operator to a running server.
///
/// A value holds the command's arguments. One file defines each command: the arguments and the reply, which are also
/// the JSON of the protocol and of `--json`, the audit entry, the execution, and the command-line command.
/// ``AdminCalls`` lists all commands.
package protocol AdminCall: Codable, Sendable {
    associatedtype Reply: Codable & Sendable

    /// The command as operators type it: `wallet show`. It is the name in requests and in the audit log.
    static var name: String { get }
    /// The lane in which the command waits for others; nil if its order does not matter.
    static var lane: AdminLane? { get }
    /// The type that parses the command line; nil for a call that other commands make.
    static var commandLine: (any ParsableCommand.Type)? { get }
    /// The least role that may give the command with these arguments.
    var role: AdminRole { get }
    /// Indicates that a second person must confirm the command if ``AdminRoles/confirmation`` is set.
    static var needsTwoPersons: Bool { get }
    /// Decides which entries the audit log gets, and when.
    var effect: AdminEffect { get }
    /// The arguments that the audit entries contain in addition to the subject.
    var auditDetail: String? { get }

    /// Rejects arguments outside their ranges; a rejected command leaves no audit entry.
    func validate() throws(AdminFailure)

    /// Calls `body` with the wallets and the recovery code that the audit entries name.
    ///
    /// `body` writes the entries and carries the command out. A command whose subject must not change in the meantime
    /// holds a lock around it.
    func withSubject(in service: AdminService, _ body: (AuditSubject) async throws -> Reply) async throws -> Reply

    /// Carries the command out. Its consequences are complete on return, unless ``effect`` is ``AdminEffect/start``.
    func run(in service: AdminService) async throws -> Reply

    /// The outcome for the audit log, unless the arguments imply it.
    func auditResult(of reply: Reply) -> String

    /// The page of a list that the call reads; nil for the first page, and for other calls.
    var page: ListPage? { get }

    /// The page that follows a reply; nil after the last one.
    func page(after reply: Reply) -> ListPage?
}

/// The effect of a command on the server.
package enum AdminEffect: Sendable {
    /// The command changes nothing. One audit entry precedes the reply, or the first page of a list.
    case read
    /// The command changes something. An audit entry precedes the change and another one the reply.
    case change
    /// As ``change``; the command starts a task, and a second audit entry records the task's end.
    case start
}

/// Commands of one lane are carried out one after another, from the first audit entry to the last.
///
/// The audit log therefore has a denial and the command that reverses it in the order of their commits, and a replay of
/// the log ends in the same state.
package enum AdminLane: Hashable, Sendable {
    /// The state that operators set in the store.
    case store
    /// The vault's keys. A separate lane, because these commands read every wallet, and no revocation may wait for
    /// that.
    case vaultKeys
}

extension AdminCall {
    package static var lane: AdminLane? { nil }
    package static var commandLine: (any ParsableCommand.Type)? { nil }
    package var auditDetail: String? { nil }
    /// The highest one, so that a new command gives no role more rights until it says so.
    package var role: AdminRole { .security }
    package static var needsTwoPersons: Bool { false }

    package func validate() throws(AdminFailure) {}

    package func withSubject(
        in service: AdminService,
        _ body: (AuditSubject) async throws -> Reply
    ) async throws -> Reply {
        try await body(AuditSubject())
    }

    package func auditResult(of reply: Reply) -> String { "" }
    package var page: ListPage? { nil }
    package func page(after reply: Reply) -> ListPage? { nil }
}

/// A command that this version does not know.
///
/// It is rejected, and the audit log records the attempt.
struct UnknownCall: AdminCall {
    static let name = AuditEvent.unknown.rawValue
    var effect: AdminEffect { .read }

    func run(in service: AdminService) async throws -> NoArguments {
        throw AdminFailure(
            .unsupported,
            "This server does not know the command or an argument of it; is it older than the program?"
        )
    }
}
