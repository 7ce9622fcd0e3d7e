internal import AuditLog
internal import Synchronization
public import Vocabulary
internal import Wire

/// What a server is asked for at each scrape, since it is known anyway.
public struct ServerFigures: Sendable {
    /// Connections whose handshake is done.
    public var connections = 0
    public var sessions = 0
    /// Verdicts since the start.
    public var validPINs = 0
    public var wrongPINs = 0
    /// Not looked at, since the wallet was blocked for a time.
    public var blockedPINs = 0
    /// The same, for good.
    public var permanentlyBlockedPINs = 0
    /// When the status list in use was fetched; nil without one.
    public var statusListFetched: Timestamp?
    /// From when on it is stale; nil where its age does not matter.
    public var statusListExpiry: Timestamp?
    /// Number of the newest entry.
    public var auditEntries: UInt64 = 0
}

extension RemotePINServer {
    /// As they are now; from any thread.
    public var figures: ServerFigures {
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
