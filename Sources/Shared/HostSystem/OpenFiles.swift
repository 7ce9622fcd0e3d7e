internal import Glibc

/// The limit on open files and sockets in this process.
package enum OpenFiles {
    /// The soft limit, which is in effect, and the hard limit, up to which this user may raise it.
    package struct Limit: Hashable, Sendable {
        package var current: Int
        package var highest: Int
    }

    /// The limit reported by the kernel (getrlimit(2)).
    package static var limit: Limit {
        var limit = rlimit()
        guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else {
            return Limit(current: 0, highest: 0)
        }
        return Limit(current: Int(clamping: limit.rlim_cur), highest: Int(clamping: limit.rlim_max))
    }

    /// Returns the soft limit of another process, or nil if it has exited.
    package static func limit(of process: Int32) -> Int? {
        guard let text = try? DurableFile.readText("/proc/\(process)/limits", atMost: 1 << 16) else { return nil }
        // Max open files            1024                 524288               files
        let line = text.split(separator: "\n").first { $0.hasPrefix("Max open files") }
        let value = line?.split(separator: " ").dropFirst(3).first
        return value == "unlimited" ? Int.max : value.flatMap { Int($0) }
    }

    /// Raises the limit to `count` or as far as this user is allowed to, and returns the new limit.
    ///
    /// Does nothing if the limit is already high enough.
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
