internal import CHostSystem
internal import Dispatch
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

    /// Raises the limit to `count` or as far as this user is allowed to, and returns the new limit; does nothing if the
    /// limit is already high enough.
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

/// The number of threads that the system lets this process start.
package enum ThreadLimit {
    /// EX_OSERR in sysexits.h.
    package static let status: Int32 = 71
    /// The threads of event loops, tasks, files and child processes that a server uses.
    private static var needed: Int { 2 * (Processors.allowed ?? 1) + 12 }
    private static let gate = DispatchSemaphore(value: 0)

    /// Ends the process with a message if it may not start as many threads as it needs.
    ///
    /// Must be called before the first suspension, because the library that starts threads for tasks waits for ever if
    /// it may not.
    package static func check() {
        var threads: [pthread_t] = []
        var code: Int32 = 0
        while threads.count < self.needed, code == 0 {
            var thread = pthread_t()
            code = unsafe pthread_create(
                &thread,
                nil,
                { _ in
                    ThreadLimit.gate.wait()
                    return nil
                },
                nil
            )
            if code == 0 { threads.append(thread) }
        }
        for _ in threads { self.gate.signal() }
        for thread in threads { pthread_join(thread, nil) }
        guard code != 0 else { return }
        let reason = SystemCall.text(of: code)
        StandardStreams.writeError(
            "only \(threads.count) of \(self.needed) threads can be started: \(reason); raise the user's limit "
                + "(RLIMIT_NPROC, `ulimit -u`, LimitNPROC=) or that of the control group (pids.max, TasksMax=)\n"
        )
        _exit(self.status)
    }
}

/// The processors of this machine.
package enum Processors {
    /// The number of processors that this thread may run on, or nil if the system does not report it.
    package static var allowed: Int? {
        let count = Int(host_system_allowed_processors())
        return count > 0 ? count : nil
    }
}

/// Keeps other processes from getting copies of this process's memory.
package enum CoreDumps {
    /// Prevents core dumps of this process and its children, because their memory contains keys and PINs.
    ///
    /// The process is also made not dumpable, so that other processes of the same user cannot trace it or read its
    /// memory (PR_SET_DUMPABLE, ptrace(2)). This does not apply to programs that it starts.
    ///
    /// The limit is set to one byte rather than zero. With a limit of 0, a program named in core_pattern (core(5))
    /// would still be given all of the memory. With a limit of 1 it gets nothing (Linux, fs/coredump.c), and no core
    /// file can be that short. If the limit is already 0, we cannot raise it, and have no way to stop such a program.
    package static func forbid() {
        var limit = rlimit()
        guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &limit) == 0 else { return }
        limit.rlim_max = min(limit.rlim_max, 1)
        limit.rlim_cur = limit.rlim_max
        unsafe _ = setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &limit)
        _ = host_system_forbid_dumps()  // rule: programs-traceable
    }

    /// Whether a process of the same user may trace this process and read its memory.
    package static var othersMayReadMemory: Bool { host_system_allows_dumps() != 0 }
}
