internal import Foundation
internal import Glibc
internal import PreparedSQL

extension StoreFile {
    /// Returns the objects in the schema of a file that a store's version does not make, makes otherwise, or misses.
    ///
    /// No process may have the file open, and it must have no log.
    package static func schemaDifferences(in path: String, ofVersion version: Int? = nil) -> [String] {
        let (schema, found) = (Schema.current, StructureCheck.schema(of: path))
        return found.map { schema.differences(in: $0, ofVersion: version ?? schema.version) } ?? [
            "its objects cannot be read"
        ]
    }

    /// Checks the structure of a file that no connection has open, on a low-priority thread.
    ///
    /// Returns SQLite's findings.
    ///
    /// - Important: Never call this for the file of an open store. Closing a second descriptor would release SQLite's
    ///   locks on it (fcntl(2)).
    package static func findings(in path: String) async -> [String] {
        await withCheckedContinuation { waiter in
            let thread = Thread {
                // On Linux, 0 stands for the calling thread (setpriority(2)). The quality-of-service classes of
                // Dispatch queues have no effect there. The lowest priority, 19, would be too low: the store's thread
                // may wait for a lock of SQLite's allocator that this thread holds.
                setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, 10)
                waiter.resume(returning: StructureCheck.findings(in: path))
            }
            thread.name = "structure check"
            thread.start()
        }
    }
}
