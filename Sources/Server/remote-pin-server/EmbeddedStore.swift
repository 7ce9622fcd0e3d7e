internal import HostSystem
internal import Telemetry
internal import Logging
internal import Metrics
internal import ServerSettings
internal import Statements
internal import WalletStore

/// The embedded store in a server's folder.
struct EmbeddedStore {
    let folder: String
    let key: RecordKey

    /// Opens the store to serve wallets.
    func openToServe(
        receipts: (any ReceiptSigner)?,
        metrics: any MetricsFactory,
        log: Logger
    ) throws -> SQLiteWalletStore {
        let lines = LogRateLimiter(burst: 3, each: .seconds(10))
        let store = try mapError(
            try SQLiteWalletStore.open(
                folder: self.folder,
                key: self.key,
                receipts: receipts,
                metrics: metrics,
                onRefusal: { reason in
                    guard let metadata = lines.allow(["reason": "\(reason)"]) else { return }
                    log.error("the store refused calls", metadata: metadata)
                },
                onFatal: { failure in
                    // After a failed sync, a later one may succeed although a page was lost, so no further request may
                    // be answered.
                    log.critical("stopping at once", metadata: ["reason": "\(failure)"])
                    ProcessEnd.atOnce(status: StartFailure.Kind(failure).rawValue)
                }
            ),
            to: self.failure
        )
        if let from = store.upgradedFrom {
            log.notice(
                "the store was upgraded; an older server cannot open it",
                metadata: ["folder": "\(self.folder)", "from": "\(from)", "to": "\(SQLiteWalletStore.version)"]
            )
        }
        return store
    }

    /// Opens the store of a stopped server for a command.
    ///
    /// - Parameter acceptingMoved: Also opens a store that was moved into a database before.
    func openStopped(acceptingDamage: Bool = false, acceptingMoved: Bool = false) throws -> SQLiteWalletStore {
        try mapError(
            try SQLiteWalletStore.open(
                folder: self.folder,
                key: self.key,
                acceptingDamage: acceptingDamage,
                acceptingMoved: acceptingMoved,
                onFatal: { failure in
                    // The file error may have lost attempt counts.
                    StandardStreams.writeError("remote-pin-server: \(failure)\n")
                    ProcessEnd.atOnce(status: StartFailure.Kind(failure).rawValue)
                }
            ),
            to: self.failure
        )
    }

    private func failure(_ error: StoreOpenError) -> StartFailure {
        let kind: StartFailure.Kind
        switch error {
        case .inUse: kind = .unavailable
        // rule: programs-damaged-store-restarted
        case .damaged, .notAStore, .backup, .moved, .otherSchema, .foreignFile: kind = .operatorMustAct
        case .newerVersion: kind = .configuration
        case .missing, .diskFull, .files: kind = .files
        }
        return StartFailure(kind, "the store in \(self.folder) cannot be used: \(error)")
    }
}

extension StartFailure.Kind {
    /// The exit status for a failure of the store's files.
    ///
    /// After a full disk, the service manager restarts the server.
    fileprivate init(_ failure: FatalStoreError) { self = failure.isDiskFull ? .files : .operatorMustAct }
}
