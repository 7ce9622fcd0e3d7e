internal import NIOCore

/// A report about connections that were closed because of a limit, either when they were accepted or in the middle of a
/// long frame.
///
/// Reports are rate-limited (``TransportLimits/refusalReportInterval``), so that a flood of connections cannot fill the
/// log.
package struct RefusedConnections: Hashable, Sendable {
    /// The limit that was reached.
    package enum Reason: String, Sendable, CaseIterable {
        /// The connection table was full, and every connection in it was protected.
        case connections = "limits.connections"
        /// A connection that had no session, or an unprotected one, was closed to make room for a new one.
        case withoutSession = "limits.connections, without a session"
        case connectionsPerSource = "limits.connections-per-source"
        case longFrames = "limits.long-frames"
    }

    /// The reason for closing the most recent of these connections.
    package let reason: Reason
    /// The source of the most recent of these connections.
    package let source: PeerSource
    /// The number of connections closed since the last report.
    package let count: Int
}

/// Counts the open connections, in total and from each source, and applies the limits.
struct ConnectionLimiter {
    private var limits: TransportLimits
    private var count = 0
    private var bySource: [PeerSource: Int] = [:]
    private var unreported = 0
    private var nextReport = NIODeadline.uptimeNanoseconds(0)

    init(limits: TransportLimits) { self.limits = limits }

    /// Changes the limit for one source.
    ///
    /// Open connections above it stay open.
    mutating func limit(perSource most: Int) { self.limits.connectionsPerSource = most }

    var isFull: Bool { self.count >= self.limits.connections }

    /// Counts a connection, or returns the reason if it is refused because of a limit.
    ///
    /// - Parameters:
    ///   - source: The source, or nil if the load balancer has not sent it yet, in which case ``attribute(to:)``
    ///     follows.
    ///   - displacing: Whether another connection is being closed to make room for this one, which may then briefly
    ///     exceed the limit.
    mutating func admit(_ source: PeerSource?, displacing: Bool = false) -> RefusedConnections.Reason? {
        guard displacing || !self.isFull else { return .connections }
        // Other users together cannot keep root and the server's user out.
        if source?.isOrdinaryUser == true, self.count >= self.limits.connections - self.limits.keptForPrivileged {
            return .connections
        }
        if let source, let reason = self.attribute(to: source) { return reason }
        self.count += 1
        return nil
    }

    /// Counts an admitted connection towards its source, or returns the reason if it is refused because of the limit.
    mutating func attribute(to source: PeerSource) -> RefusedConnections.Reason? {
        guard self.hasRoom(for: source) else { return .connectionsPerSource }
        self.bySource[source, default: 0] += 1
        return nil
    }

    /// Returns whether the source may open another connection.
    ///
    /// Always true if the source is not known yet, and for root and the server's user, who are limited in total only.
    func hasRoom(for source: PeerSource?) -> Bool {
        let most = self.limits.connectionsPerSource
        guard let source, most > 0, !source.isPrivilegedUser else { return true }
        return self.bySource[source, default: 0] < most  // rule: transport-source-without-limit
    }

    /// Removes an admitted connection that has ended.
    ///
    /// - Parameter source: The source it was counted towards, if any.
    mutating func release(_ source: PeerSource?) {
        self.count -= 1
        guard let source else { return }
        let left = self.bySource[source, default: 1] - 1
        self.bySource[source] = left > 0 ? left : nil
    }

    /// Counts a refused connection, and returns a report if one is due.
    mutating func refused(
        _ source: PeerSource,
        for reason: RefusedConnections.Reason,
        at now: NIODeadline
    ) -> RefusedConnections? {
        self.unreported += 1
        guard now >= self.nextReport else { return nil }
        defer { self.unreported = 0 }
        self.nextReport = now + TimeAmount(self.limits.refusalReportInterval)
        return RefusedConnections(reason: reason, source: source, count: self.unreported)
    }
}
