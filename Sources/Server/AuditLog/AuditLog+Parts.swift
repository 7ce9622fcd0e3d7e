package import Vault
package import Vocabulary

extension AuditLog {
    /// The parts from which a log is built.
    package struct Parts: Sendable {
        package var path: String
        package var vault: any Vault
        package var clock: any WallClock
        /// The epoch of the store, which a restore raises.
        package var epoch: Int
        /// Allows the log to continue in a later epoch than that of its newest entry; set only by the restore that
        /// opens the epoch.
        package var opensEpoch = false
        /// An entry that the log must contain: the one that the store names.
        package var last: AuditMark?
        /// Returns the store's generation, for each entry, or nil if it is not known.
        package var generation: @Sendable () -> UInt64? = { nil }
        /// Receives the newest entry after each write and at opening, for the log stream, so that a cut can be
        /// detected.
        package var onNewest: @Sendable (AuditMark) -> Void
        /// Called with a log line if the content of the file has become unknown; ends the process.
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
    }
}
