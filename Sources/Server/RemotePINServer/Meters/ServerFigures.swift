internal import AuditLog
internal import Synchronization
package import Vocabulary

/// Server figures that are read on each scrape instead of being counted as metrics.
package struct ServerFigures: Sendable {
    /// The number of connections that have completed their handshake.
    package var connections = 0
    package var sessions = 0
    /// The number of verdicts since the start.
    package var validPINs = 0
    package var wrongPINs = 0
    /// The number of PINs not judged because of a temporary block.
    package var blockedPINs = 0
    /// The number of PINs not judged because of the permanent block.
    package var permanentlyBlockedPINs = 0
    /// The time at which the current status list was fetched, or nil if no list is in use.
    package var statusListFetched: Timestamp?
    /// The time at which the list becomes stale, or nil if its age does not matter.
    package var statusListExpiry: Timestamp?
    /// The number of the newest audit entry.
    package var auditEntries: UInt64 = 0
}

extension RemotePINServer {
    /// The current figures, which can be read from any thread.
    package var figures: ServerFigures {
        let pins = self.state.statistics.pinOutcomes.counts
        let statusList = self.state.devices.attestations.statusListTimes
        return ServerFigures(
            connections: self.state.statistics.openConnections.load(ordering: .relaxed),
            sessions: self.state.registry.sessionCount,
            validPINs: pins.valid,
            wrongPINs: pins.wrong,
            blockedPINs: pins.blocked,
            permanentlyBlockedPINs: pins.permanentlyBlocked,
            statusListFetched: statusList.fetched,
            statusListExpiry: statusList.expiry,
            auditEntries: self.state.revocations.audit.newest.number
        )
    }
}
