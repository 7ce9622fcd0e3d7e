internal import CHostSystem
internal import Glibc

/// The copies of this process's memory that other processes can obtain.
package enum CoreDumps {
    /// Prevents core dumps of this process and its children, because their memory contains keys and PINs.
    ///
    /// The process is also made not dumpable, so that other processes of the same user can neither trace it nor
    /// read its memory (PR_SET_DUMPABLE, ptrace(2)). A program that it starts is dumpable again.
    ///
    /// The limit is one byte rather than zero. If the limit is 0, the program named by core_pattern (core(5)) still
    /// gets the whole memory; if it is 1, that program gets nothing (Linux, fs/coredump.c), and no core file is
    /// that short. A limit that is already 0 cannot be raised; this process then has no control over such a
    /// program.
    package static func forbid() {
        var limit = rlimit()
        guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &limit) == 0 else { return }
        limit.rlim_max = min(limit.rlim_max, 1)
        limit.rlim_cur = limit.rlim_max
        unsafe _ = setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &limit)
        _ = host_system_forbid_dumps()
    }

    /// True if a process of the same user may trace this one and read its memory.
    package static var othersMayReadMemory: Bool { host_system_allows_dumps() != 0 }
}
