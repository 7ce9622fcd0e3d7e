internal import AuditLog
internal import Synchronization

/// A position in a list, given by the command, its filters, and the last element before the page.
package struct ListPage: Hashable, Sendable {
    package var list: String
    package var after: String

    package init(of list: String, after: String) {
        self.list = list
        self.after = after
    }
}

/// The pages that clients are expected to ask for next, because the previous page is in the audit log.
///
/// A client reads a list in pages. The audit log has a single entry for the whole command, written for the first page.
///
/// Threat: a client could read a list without leaving an entry by asking for a later page right away. An entry is
/// therefore only skipped for the page that follows one that the same user has read, and only once.
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

    /// Returns whether this page follows one that the user has read, and removes it from the expected pages.
    func take(_ page: ListPage, by actor: AuditActor) -> Bool {
        self.expected.withLock { pages in
            guard let place = pages.firstIndex(of: Expected(page: page, actor: actor)) else { return false }
            pages.remove(at: place)
            return true
        }
    }

    /// Remembers the page that follows the one the user is reading.
    func expect(_ page: ListPage, by actor: AuditActor) {
        self.expected.withLock { pages in
            pages.append(Expected(page: page, actor: actor))
            if pages.count > Self.most { pages.removeFirst() }
        }
    }
}
