internal import Glibc

/// How many files and sockets this process may have open.
package enum OpenFiles {
    /// The limit that holds, and the most that this user may raise it to.
    package struct Limit: Hashable, Sendable {
        package var current: Int
        package var highest: Int
    }

    /// As the kernel says it (getrlimit(2)).
    package static var limit: Limit {
        var limit = rlimit()
        guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else {
            return Limit(current: 0, highest: 0)
        }
        return Limit(current: Int(clamping: limit.rlim_cur), highest: Int(clamping: limit.rlim_max))
    }

    /// Raises the limit to `count` if it is lower, as far as this user may; returns what holds then.
    @discardableResult
    package static func raise(to count: Int) -> Limit {
        let before = self.limit
        guard before.current < count else { return before }
        var wanted = rlimit()
        wanted.rlim_cur = rlim_t(min(count, before.highest))
        wanted.rlim_max = rlim_t(before.highest)
        unsafe _ = setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &wanted)
        return self.limit
    }
}
