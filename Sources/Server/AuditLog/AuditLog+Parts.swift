package import Vault
package import Vocabulary

extension AuditLog {
    /// What a log is made of.
    package struct Parts: Sendable {
        package var path: String
        package var vault: any Vault
        package var clock: any WallClock
        /// The epoch of the store, which a restore raises.
        package var epoch: Int
        /// Whether the log goes on in a later epoch than its newest entry is of: for the restore that opens it, and nobody
        /// else.
        package var opensEpoch = false
        /// Told of the newest entry after each write and at the opening, for the log stream: with it a cut is found.
        package var onNewest: @Sendable (AuditMark) -> Void
        /// Called with a line for the log when it is not known any more what the file holds; ends the process.
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
