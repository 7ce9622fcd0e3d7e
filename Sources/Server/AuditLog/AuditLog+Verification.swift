package import HostSystem
package import Vocabulary

// The time of the last verification by an operator or a timer. It is kept outside the log, which is append-only.
extension AuditLog {
    private static func recordPath(of path: String) -> String { path + ".verified" }

    /// Records that the log at this path was just verified and is intact.
    package static func recordVerification(of path: String) throws(FileError) {
        try DurableFile.write([], to: self.recordPath(of: path))
    }

    /// Returns the time of the last recorded verification of the log at this path, or nil if there is none.
    package static func lastVerification(of path: String) -> Timestamp? {
        (try? DurableFile.changeTime(of: self.recordPath(of: path))).map { Timestamp(milliseconds: $0 / 1_000_000) }
    }
}
