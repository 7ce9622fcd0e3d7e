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
