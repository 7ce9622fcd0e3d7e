internal import Vocabulary

/// How far a provisioning is.
package struct ProvisioningProgress: Hashable, Sendable {
    /// Wallets that the file is to hold.
    package var total: Int
    /// Of these, those that it held at the beginning.
    package var before: Int
    /// Registered since, by platform.
    package var android = 0
    package var iOS = 0
    /// Registrations that were sent again because no answer came.
    package var repeated = 0
    /// What keeps it from going on at this moment; nil while wallets are registered.
    package var trouble: FleetFailure?
    /// Since the beginning.
    package var elapsed: Duration = .zero

    package init(total: Int, before: Int) {
        self.total = total
        self.before = before
    }

    /// Registered in this run.
    package var registered: Int { self.android + self.iOS }
    /// In the file.
    package var held: Int { self.before + self.registered }
    package var left: Int { max(0, self.total - self.held) }

    mutating func count(_ platform: Platform) {
        switch platform {
        case .android: self.android += 1
        case .iOS: self.iOS += 1
        }
        self.trouble = nil
    }
}

/// The rate of the last seconds, and the time that the rest will take at it.
package struct RateMeter: Sendable {
    private var samples: [(at: Duration, count: Int)] = []
    private let window: Duration

    /// - Parameter window: what counts as the last seconds.
    package init(window: Duration = .seconds(10)) {
        self.window = window
    }

    /// Notes a count that grows.
    package mutating func note(_ count: Int, at time: Duration) {
        self.samples.append((time, count))
        while self.samples.count > 2, time - self.samples[0].at > self.window { self.samples.removeFirst() }
    }

    /// For each second; 0 where nothing is known yet.
    package var perSecond: Double {
        guard let first = self.samples.first, let last = self.samples.last, last.at > first.at else { return 0 }
        return Double(last.count - first.count) / ((last.at - first.at) / .seconds(1))
    }

    /// How long so many more take; nil where nothing moves.
    package func time(for count: Int) -> Duration? {
        let rate = self.perSecond
        return rate > 0 ? .seconds((Double(count) / rate).rounded(.up)) : nil
    }
}
