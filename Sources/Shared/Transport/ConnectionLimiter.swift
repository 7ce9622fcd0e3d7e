internal import NIOCore

/// A report of connections that were closed by a limit, on acceptance or in the middle of a long frame.
///
/// Reports are rate-limited (``TransportLimits/refusalReportInterval``), so that a flood of
/// connections cannot fill the log.
package struct RefusedConnections: Hashable, Sendable {
    /// The limit that was reached.
    package enum Reason: String, Sendable, CaseIterable {
        /// The table was full of connections with a session.
        case connections = "limits.connections"
        /// A connection without a session was closed to make room for a new one.
        case withoutSession = "limits.connections, without a session"
        case connectionsPerSource = "limits.connections-per-source"
        case longFrames = "limits.long-frames"
    }

    /// The reason for the last one.
    package let reason: Reason
    /// The source of the last one.
    package let source: PeerSource
    /// The number of connections since the last report.
    package let count: Int
}

/// Counts the open connections, in total and from each source, and applies the limits.
struct ConnectionLimiter {
    private let limits: TransportLimits
    private var count = 0
    private var bySource: [PeerSource: Int] = [:]
    private var unreported = 0
    private var nextReport = NIODeadline.uptimeNanoseconds(0)

    init(limits: TransportLimits) {
        self.limits = limits
    }

    /// True if no place is left.
    var isFull: Bool { self.count >= self.limits.connections }

    /// True if only the last quarter of the places is left, which connections without a session may
    /// occupy only while they are fresh.
    var isInLastQuarter: Bool { self.count >= self.limits.connections - self.limits.connections / 4 }

    /// Counts a connection; returns the reason if a limit refuses it.
    ///
    /// - Parameters:
    ///   - source: Nil if the load balancer has not named it yet; ``attribute(to:)`` follows.
    ///   - displacing: True if another connection is closed for this one, which may then exceed the total.
    mutating func admit(_ source: PeerSource?, displacing: Bool = false) -> RefusedConnections.Reason? {
        guard displacing || !self.isFull else { return .connections }
        if let source, let reason = self.attribute(to: source) { return reason }
        self.count += 1
        return nil
    }

    /// Counts an admitted connection under its source; returns the reason if the limit refuses it.
    mutating func attribute(to source: PeerSource) -> RefusedConnections.Reason? {
        guard self.hasRoom(for: source) else { return .connectionsPerSource }
        self.bySource[source, default: 0] += 1
        return nil
    }

    /// True if a source may have another connection; true if it is not known yet.
    func hasRoom(for source: PeerSource?) -> Bool {
        let most = self.limits.connectionsPerSource
        guard let source, most > 0 else { return true }
        return self.bySource[source, default: 0] < most
    }

    /// Removes an admitted connection that ended.
    ///
    /// - Parameter source: The source under which it was counted, if any.
    mutating func release(_ source: PeerSource?) {
        self.count -= 1
        guard let source else { return }
        let left = self.bySource[source, default: 1] - 1
        self.bySource[source] = left > 0 ? left : nil
    }

    /// Counts a refused connection; returns a report if one is due.
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
