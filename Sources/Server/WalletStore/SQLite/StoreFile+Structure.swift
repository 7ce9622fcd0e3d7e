internal import Dispatch
internal import PreparedSQL

extension StoreFile {
    /// Checks the structure of a file that no connection has open, on a thread of lower priority, and returns SQLite's
    /// findings.
    ///
    /// - Important: Never call this for the file of an open store. Closing a second descriptor would release the locks
    ///   that SQLite holds on it (fcntl(2)).
    package static func findings(in path: String) async -> [String] {
        await withCheckedContinuation { waiter in
            DispatchQueue.global(qos: .utility).async { waiter.resume(returning: StructureCheck.findings(in: path)) }
        }
    }
}
