internal import Dispatch
package import HostSystem
package import Vault
package import Vocabulary

extension AuditLog {
    /// The values needed to create or open a log.
    package struct Parts: Sendable {
        package var path: String
        package var vault: any Vault
        package var clock: any WallClock
        /// The store's epoch, which increases with every restore.
        package var epoch: Int
        /// Whether the log may continue in a later epoch than its newest entry's.
        ///
        /// Only set by the restore that opens the epoch, and by servers that share a store.
        package var opensEpoch = false
        /// An entry that the log must contain because the store names it.
        package var last: AuditMark?
        /// Returns the store's generation for each entry to record, or nil if unknown.
        package var generation: @Sendable () -> UInt64? = { nil }
        /// The name of this server, which each entry records if several servers share the store.
        package var server: String?
        /// Called with the newest entry when the log is opened and after each write.
        ///
        /// The server writes it to its own log, so that a later truncation of the file can be detected.
        package var onNewest: @Sendable (AuditMark) -> Void
        /// Called with each entry and its line, including the line feed, once they are on disk, in order.
        package var onWritten: @Sendable (AuditEntry, [UInt8]) -> Void = { _, _ in }
        /// Runs writes, which block.
        package var onDisk: BlockingWork = DispatchQueue.blockingWork("audit log")
        /// Ends the process with this log message, because the contents of the file are unknown.
        package var onFatal: @Sendable (String) -> Never

        package init(
            path: String,
            vault: any Vault,
            clock: any WallClock,
            epoch: Int = 1,
            onNewest: @escaping @Sendable (AuditMark) -> Void = { _ in },
            onFatal: @escaping @Sendable (String) -> Never = { fatalError($0) }
        ) {
            self.path = path
            self.vault = vault
            self.clock = clock
            self.epoch = epoch
            self.onNewest = onNewest
            self.onFatal = onFatal
        }

        /// Ends the process, because another program changed the file while it was in use.
        ///
        /// Threat (G7): the log is cut or replaced under a running server. The entries after the gap would make it look
        /// like a complete log to a program that copies it.
        func end(because change: AppendFile.Change, after newest: AuditMark) -> Never {
            self.onFatal(
                "the audit log was changed while it was in use: \(change). Put that file back, or a copy that has "
                    + "entry \(newest)"
            )
        }
    }
}
