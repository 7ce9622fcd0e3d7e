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
