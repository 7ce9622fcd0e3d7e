internal import Glibc

/// What the kernel keeps of a process that crashes.
package enum CoreDumps {
    /// Has this process, and those that it starts, leave no copy of their memory, in which keys and PINs are.
    ///
    /// A limit of one byte and not of none: core_pattern's program (core(5)) gets the whole memory where the limit is 0, and
    /// nothing where it is 1 (Linux, fs/coredump.c); no file is that short. Where the limit is 0 already, it may not be raised,
    /// and what such a program keeps is its own matter.
    package static func forbid() {
        var limit = rlimit()
        guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &limit) == 0 else { return }
        limit.rlim_max = min(limit.rlim_max, 1)
        limit.rlim_cur = limit.rlim_max
        unsafe _ = setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &limit)
    }
}
