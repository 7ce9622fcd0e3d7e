internal import AuditLog
internal import Synchronization
package import Vocabulary
internal import Wire

/// What a server is asked for at each scrape, since it is known anyway.
package struct ServerFigures: Sendable {
    /// Connections whose handshake is done.
    package var connections = 0
    package var sessions = 0
    /// Verdicts since the start.
    package var validPINs = 0
    package var wrongPINs = 0
    /// Not looked at, since the wallet was blocked for a time.
    package var blockedPINs = 0
    /// The same, for good.
    package var permanentlyBlockedPINs = 0
    /// When the status list in use was fetched; nil without one.
    package var statusListFetched: Timestamp?
    /// From when on it is stale; nil where its age does not matter.
    package var statusListExpiry: Timestamp?
    /// Number of the newest entry.
    package var auditEntries: UInt64 = 0
}

extension RemotePINServer {
    /// As they are now; from any thread.
    package var figures: ServerFigures {
        let services = self.services
        var figures = ServerFigures()
        figures.connections = services.openConnections.load(ordering: .relaxed)
        figures.sessions = services.registry.sessionCount
        let pins = services.pinOutcomes
        figures.validPINs = pins.counts.valid
        figures.wrongPINs = pins.counts.wrong
        figures.permanentlyBlockedPINs = pins.permanentlyBlockedCount
        figures.blockedPINs = pins.counts.blocked - figures.permanentlyBlockedPINs
        (figures.statusListFetched, figures.statusListExpiry) = services.attestations.statusListTimes
        figures.auditEntries = services.audit.newest.number
        return figures
    }
}
