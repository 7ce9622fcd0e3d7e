internal import NIOCore

/// Connections that were closed for want of room: as soon as they were accepted, or in the middle of a long frame.
///
/// Told at most once in ``TransportLimits/refusalReportInterval``, or who opens connections by the thousand would fill the log.
package struct RefusedConnections: Hashable, Sendable {
    /// Which limit was reached.
    package enum Reason: String, Sendable, CaseIterable {
        case connections = "limits.connections"
        case connectionsPerSource = "limits.connections-per-source"
        case longFrames = "limits.long-frames"
    }

    /// Of the last one.
    package let reason: Reason
    /// Of the last one.
    package let source: PeerSource
    /// How many there were since this was told last.
    package let count: Int
}

/// Counts the connections that are open, in all and from each source, and says which further ones may be.
struct ConnectionLimiter {
    private let limits: TransportLimits
    private var count = 0
    private var bySource: [PeerSource: Int] = [:]
    private var unreported = 0
    private var nextReport = NIODeadline.uptimeNanoseconds(0)

    init(limits: TransportLimits) {
        self.limits = limits
    }

    /// Takes one in; the reason why not where it may not be.
    ///
    /// - Parameter source: nil where a balancer has yet to say it; ``attribute(to:)`` follows.
    mutating func admit(_ source: PeerSource?) -> RefusedConnections.Reason? {
        guard self.count < self.limits.connections else { return .connections }
        if let source, let reason = self.attribute(to: source) { return reason }
        self.count += 1
        return nil
    }

    /// Counts one that was admitted without a source under the one that it has; the reason why not where it may not be.
    mutating func attribute(to source: PeerSource) -> RefusedConnections.Reason? {
        let most = self.limits.connectionsPerSource
        guard most == 0 || self.bySource[source, default: 0] < most else { return .connectionsPerSource }
        self.bySource[source, default: 0] += 1
        return nil
    }

    /// One that was admitted has ended; its source, if it was counted under one.
    mutating func release(_ source: PeerSource?) {
        self.count -= 1
        guard let source else { return }
        let left = self.bySource[source, default: 1] - 1
        self.bySource[source] = left > 0 ? left : nil
    }

    /// Counts a refusal; what to tell of it, if it is time to.
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
