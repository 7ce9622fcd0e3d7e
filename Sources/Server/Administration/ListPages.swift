internal import AuditLog
internal import Synchronization

/// A place in a list: its command and filters, and the last element before the page.
package struct ListPage: Hashable, Sendable {
    package var list: String
    package var after: String

    package init(of list: String, after: String) {
        self.list = list
        self.after = after
    }
}

/// The pages that follow pages on record, which clients are expected to ask for.
///
/// A client reads a list in pages, and the audit log has one entry for the command, made for the first page.
///
/// Threat: a client that asks for a later page at once would read the list without an entry. So only the page that
/// follows one that the same user has read gets no entry, once.
final class ListPages: Sendable {
    private struct Expected: Hashable {
        let page: ListPage
        let actor: AuditActor
    }

    /// The limit of expected pages; beyond it the oldest one gets an entry when it is read.
    private static let most = 256

    private let expected = Mutex<[Expected]>([])

    /// Returns whether this page follows one that the user has read, and forgets it.
    func take(_ page: ListPage, by actor: AuditActor) -> Bool {
        self.expected.withLock { pages in
            guard let place = pages.firstIndex(of: Expected(page: page, actor: actor)) else { return false }
            pages.remove(at: place)
            return true
        }
    }

    /// Notes the page that follows one that the user reads now.
    func expect(_ page: ListPage, by actor: AuditActor) {
        self.expected.withLock { pages in
            pages.append(Expected(page: page, actor: actor))
            if pages.count > Self.most { pages.removeFirst() }
        }
    }
}
