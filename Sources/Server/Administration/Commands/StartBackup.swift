package import AdminProtocol
internal import AuditLog
package import StoreMaintenance
package import Vocabulary

/// The call made by `remote-pin-server backup`, which copies the store to a new file.
///
/// The reply is sent when copying starts. Copying continues even if the connection is closed.
package struct StartBackup: AdminCall {
    package static let name = AuditEvent.backup.rawValue
    package var effect: AdminEffect { .start }
    package var auditDetail: String? { self.path }

    /// An absolute path.
    ///
    /// Its length must be in ``byteCounts``.
    package var path: String

    package static let byteCounts = 2...4000

    package init(path: String) { self.path = path }

    package func validate() throws(AdminFailure) {
        try self.path.utf8.count.mustBe(in: Self.byteCounts, "path.count")
        guard self.path.hasPrefix("/") else { throw AdminFailure(.malformed, "`path` is not absolute.") }
    }

    package func run(in service: AdminService) async throws -> BackupReply {
        try service.operations.maintenance.startBackup(at: self.path)
        guard let backup = service.operations.maintenance.report().backup else {
            throw AdminFailure(.internal, "The backup has not begun.")
        }
        return BackupReply(backup)
    }
}

/// Returns the progress of store maintenance.
///
/// Polled by `backup`, `vault rotate` and `vault refresh-shares` until done.
package struct ShowMaintenance: AdminCall {
    package static let name = "maintenance show"
    package var effect: AdminEffect { .read }
    package var role: AdminRole { .observer }

    package init() {}

    package struct Reply: Codable, Hashable, Sendable {
        /// The newest backup since the server started.
        package var backup: BackupReply?
        /// The newest resealing since the server started.
        package var reseal: ResealProgress?
        /// The newest share refresh since the server started.
        package var refresh: ShareRefreshProgress?
    }

    package func run(in service: AdminService) async throws -> Reply {
        let report = service.operations.maintenance.report()
        return Reply(backup: report.backup.map(BackupReply.init), reseal: report.reseal, refresh: report.refresh)
    }
}

/// The progress of a backup.
package struct BackupReply: Codable, Hashable, Sendable {
    package var path: String
    package var state: MaintenanceState
    package var pagesCopied: Int
    /// The total number of pages, or 0 until the first pages have been copied.
    package var pages: Int
    /// The size of the file, once the backup is done.
    package var byteCount: Int
    /// The point in time that the backup reflects.
    ///
    /// Omitted until the backup is done.
    package var takenAt: Timestamp?
    /// The reason, if the backup failed.
    package var problem: String?

    init(_ progress: BackupProgress) {
        self.path = progress.path
        self.state = progress.state
        self.pagesCopied = progress.pagesCopied
        self.pages = progress.pages
        self.byteCount = progress.byteCount
        self.takenAt = progress.takenAt
        self.problem = progress.problem
    }
}
