package import AdminProtocol
package import ArgumentParser
package import AuditLog
internal import Synchronization
package import Vocabulary

/// A command sent by an operator to a running server.
///
/// The value holds the command's arguments. Each command is defined in a single file, which contains its arguments and
/// reply (also used as the JSON of the protocol and of `--json`), its audit entry, its execution, and its command-line
/// interface. ``AdminCalls`` lists all commands.
package protocol AdminCall: Codable, Sendable {
    associatedtype Reply: Codable & Sendable

    /// The command as operators type it, such as `wallet show`.
    ///
    /// The same name is used in requests and in the audit log.
    static var name: String { get }
    /// The lane in which the command waits for others, or nil if its order does not matter.
    static var lane: AdminLane? { get }
    /// The type that parses the command line, or nil for a call made only by other commands.
    static var commandLine: (any ParsableCommand.Type)? { get }
    /// The lowest role that is allowed to run the command with these arguments.
    var role: AdminRole { get }
    /// Determines which audit entries are written, and when.
    var effect: AdminEffect { get }
    /// The arguments to include in the audit entries, in addition to the subject.
    var auditDetail: String? { get }

    /// Rejects arguments that are out of range.
    ///
    /// A rejected command leaves no audit entry.
    func validate() throws(AdminFailure)

    /// Calls `body` with the wallets and the recovery code to be named in the audit entries.
    ///
    /// `body` writes the entries and runs the command. A command whose subject must not change in the meantime holds a
    /// lock while `body` runs.
    func withSubject(in service: AdminService, _ body: (AuditSubject) async throws -> Reply) async throws -> Reply

    /// Runs the command and returns once all of its effects are complete, unless ``effect`` is ``AdminEffect/start``.
    func run(in service: AdminService) async throws -> Reply

    /// Returns the outcome to record in the audit log, if it does not follow from the arguments.
    func auditResult(of reply: Reply) -> String

    /// The wallets that the command ended, if they may include others than its subject.
    func auditedWallets(of reply: Reply) -> Set<WalletID>

    /// The page of a list that this call reads, or nil for the first page and for other calls.
    var page: ListPage? { get }

    /// The page after a reply, or nil if it was the last one.
    func page(after reply: Reply) -> ListPage?
}

/// The effect of a command on the server.
package enum AdminEffect: Sendable {
    /// The command changes nothing.
    ///
    /// A single audit entry is written before the reply, or before the first page of a list.
    case read
    /// The command changes something.
    ///
    /// One audit entry is written before the change, and another before the reply.
    case change
    /// Like ``change``, except that the command starts a task, and the second audit entry is written when the task
    /// ends.
    case start
}

/// A group of commands that run one at a time, from the first audit entry to the last.
///
/// This way, a denial and the command that reverses it appear in the audit log in the order they were committed, so
/// replaying the log leads to the same state.
package enum AdminLane: Hashable, Sendable {
    /// The state that operators set in the store.
    case store
    /// The vault's keys.
    ///
    /// They have their own lane because these commands read every wallet, and a revocation must not wait for that.
    case vaultKeys
}

extension AdminCall {
    package static var lane: AdminLane? { nil }
    package static var commandLine: (any ParsableCommand.Type)? { nil }
    package var auditDetail: String? { nil }
    /// Defaults to the highest role, so that a new command is not available to lower roles unless it says so.
    package var role: AdminRole { .security }

    package func validate() throws(AdminFailure) {}

    package func withSubject(
        in service: AdminService,
        _ body: (AuditSubject) async throws -> Reply
    ) async throws -> Reply {
        try await body(AuditSubject())
    }

    package func auditResult(of reply: Reply) -> String { "" }
    package func auditedWallets(of reply: Reply) -> Set<WalletID> { [] }
    package var page: ListPage? { nil }
    package func page(after reply: Reply) -> ListPage? { nil }
}

/// A command unknown to this version.
///
/// It is rejected, but the attempt is recorded in the audit log.
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

/// A position in a list, given by the command, its filters, and the last element before the page.
package struct ListPage: Hashable, Sendable {
    package var list: String
    package var after: String

    package init(of list: String, after: String) {
        self.list = list
        self.after = after
    }
}

/// The pages that clients are expected to request next, because the audit log already covers the previous page.
///
/// A client reads a list in pages. The audit log has a single entry for the whole command, written for the first page.
///
/// Threat: a client could read a list without leaving an entry by requesting a later page directly. Therefore, the
/// entry is skipped only for a page that follows one read by the same user, and only once.
final class ListPages: Sendable {
    private struct Expected: Hashable {
        let page: ListPage
        let actor: AuditActor
    }

    /// The maximum number of expected pages.
    ///
    /// Beyond that, the oldest one is dropped, and reading it creates an entry.
    private static let most = 256

    private let expected = Mutex<[Expected]>([])

    /// Returns whether this page follows one that the user has read.
    ///
    /// Removes it from the expected pages.
    func take(_ page: ListPage, by actor: AuditActor) -> Bool {
        self.expected.withLock { pages in
            guard let place = pages.firstIndex(of: Expected(page: page, actor: actor)) else { return false }
            pages.remove(at: place)
            return true
        }
    }

    /// Records that the user may request the page after the current one.
    func expect(_ page: ListPage, by actor: AuditActor) {
        self.expected.withLock { pages in
            pages.append(Expected(page: page, actor: actor))
            if pages.count > Self.most { pages.removeFirst() }
        }
    }
}
