internal import Glibc

/// The machine's name (gethostname(2)).
///
/// The file `/proc/sys/kernel/hostname` is hidden from a service with systemd's `ProcSubset=pid`.
package enum MachineName {
    /// The maximum length on Linux (`HOST_NAME_MAX`).
    private static let longest = 64

    package static var current: String {
        unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: Self.longest + 1) { name in
            guard let start = name.baseAddress else { return "" }
            guard unsafe gethostname(start, name.count) == 0 else { return "" }
            return unsafe String(cString: start)
        }
    }
}
