package import HostSystem

/// The copy of an embedded store's mark that a server keeps beside its audit log.
///
/// Threat (G4): the data folder with the database, its log and its mark is replaced by an older copy. If the audit log
/// has no entry since, only this copy names a later commit than the store's last one.
package enum MarkCopy {
    /// The path of the copy beside the audit log at `path`.
    package static func path(besideAuditLog path: String) -> String { path + ".mark" }

    /// Returns the number of the store's last commit according to the copy beside an audit log, or nil if the copy is
    /// missing or damaged.
    package static func generation(besideAuditLog path: String) throws(FileError) -> UInt64? {
        try StoreMark.read(at: Self.path(besideAuditLog: path))?.generation
    }

    /// Creates the copy if it is missing or damaged.
    ///
    /// Used by a restore, whose store has a later generation than a sound copy.
    package static func create(besideAuditLog path: String) throws(FileError) {
        guard try Self.generation(besideAuditLog: path) == nil else { return }
        try DurableFile.write(StoreMark.Content().encoded(), to: Self.path(besideAuditLog: path))
    }
}
