internal import CHostSystem
internal import Glibc

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
        _ = host_system_forbid_dumps()
    }

    /// Whether a process of the same user may trace this process and read its memory.
    package static var othersMayReadMemory: Bool { host_system_allows_dumps() != 0 }
}
