internal import Dispatch
internal import PreparedSQL

extension StoreFile {
    /// Checks the structure of a file that no connection has open, on a low-priority thread.
    ///
    /// Returns SQLite's findings.
    ///
    /// - Important: Never call this for the file of an open store. Closing a second descriptor would release SQLite's
    ///   locks on it (fcntl(2)).
    package static func findings(in path: String) async -> [String] {
        await withCheckedContinuation { waiter in
            DispatchQueue.global(qos: .utility).async { waiter.resume(returning: StructureCheck.findings(in: path)) }
        }
    }
}
