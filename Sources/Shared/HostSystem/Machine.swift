internal import Glibc

/// The machine's users and groups.
package enum Accounts {
    /// The effective user of this process.
    package static var currentUser: UInt32 { geteuid() }

    /// Returns the name of a user, or nil if this machine has no such user.
    package static func userName(of id: UInt32) -> String? {
        var entry = unsafe passwd()
        return unsafe self.found(&entry, { unsafe getpwuid_r(id, $0, $1, $2, $3) }) { entry in
            unsafe entry.pw_name.map { unsafe String(cString: $0) }
        }
    }

    /// Returns the id of a group given by its name or number, or nil if this machine has no group with that name.
    package static func groupID(of name: String) -> UInt32? {
        if let number = UInt32(name) { return number }
        var entry = unsafe group()
        return unsafe self.found(&entry, { unsafe getgrnam_r(name, $0, $1, $2, $3) }) { unsafe $0.gr_gid }
    }

    /// Changes the group and permissions of a file or folder.
    package static func give(_ path: String, toGroup id: UInt32, mode: UInt32) throws(FileError) {
        try SystemCall.retrying(path) { unsafe chown(path, uid_t.max, id) }
        try SystemCall.retrying(path) { unsafe chmod(path, mode) }
    }

    /// Looks up an entry using a buffer for its strings, and reads it while the buffer is still valid.
    private static func found<Entry, Value>(
        _ entry: inout Entry,
        _ look: (
            UnsafeMutablePointer<Entry>, UnsafeMutablePointer<CChar>, Int,
            UnsafeMutablePointer<UnsafeMutablePointer<Entry>?>
        ) -> Int32,
        _ read: (Entry) -> Value?
    ) -> Value? {
        // The directories of large organizations may contain groups with thousands of members.
        for size in [4096, 1 << 20] {
            var texts = [CChar](repeating: 0, count: size)
            var result: UnsafeMutablePointer<Entry>?
            let value: (code: Int32, value: Value?) = unsafe texts.withUnsafeMutableBufferPointer { buffer in
                guard let base = buffer.baseAddress else { return (ENOMEM, nil) }
                let code = unsafe look(&entry, base, buffer.count, &result)
                guard code == 0, unsafe result != nil else { return (code, nil) }
                return (code, read(entry))
            }
            if value.code != ERANGE { return value.value }
        }
        return nil
    }
}

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

/// The space on a file system that is available to this user.
package struct DiskSpace: Hashable, Sendable {
    package let freeByteCount: Int
    package let totalByteCount: Int
    /// False if no more files can be created even though there is space left.
    package let hasFileNumbers: Bool
    /// Whether the file system is mounted read-only, as after an error of its disk.
    package let isReadOnly: Bool

    /// Queries the file system that contains `path` (statvfs(3)).
    package init(of path: String) throws(FileError) {
        var status = statvfs()
        try SystemCall.retrying(path) { unsafe statvfs(path, &status) }
        let blockSize = Int(clamping: status.f_frsize)
        self.freeByteCount = Int(clamping: status.f_bavail) * blockSize
        self.totalByteCount = Int(clamping: status.f_blocks) * blockSize
        // Some file systems do not have a fixed number of files and report 0 out of 0.
        self.hasFileNumbers = status.f_files == 0 || status.f_favail > 0
        self.isReadOnly = status.f_flag & UInt(ST_RDONLY) != 0
    }
}
