internal import Vocabulary

/// The progress of registering wallets.
package struct ProvisioningProgress: Hashable, Sendable {
    /// The number of wallets that the file should contain.
    package var total: Int
    /// The number of wallets that it contained at the start.
    package var before: Int
    /// The numbers of wallets registered since then, by platform.
    package var android = 0
    package var iOS = 0
    /// The number of registrations repeated because no response arrived.
    package var repeated = 0
    /// The current obstacle, or nil while wallets are being registered.
    package var trouble: FleetFailure?
    /// The time since the start.
    package var elapsed: Duration = .zero

    /// The number of wallets registered by this call.
    package var registered: Int { self.android + self.iOS }
    /// The number of wallets in the file.
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

/// Measures the rate over a sliding window and estimates the remaining time.
package struct RateMeter: Sendable {
    private var samples: [(at: Duration, count: Int)] = []
    private let window: Duration

    /// - Parameter window: The length of the sliding window.
    package init(window: Duration = .seconds(10)) {
        self.window = window
    }

    /// Records the current value of an increasing count.
    package mutating func note(_ count: Int, at time: Duration) {
        self.samples.append((time, count))
        while self.samples.count > 2, time - self.samples[0].at > self.window { self.samples.removeFirst() }
    }

    /// The rate per second, or 0 if unknown.
    package var perSecond: Double {
        guard let first = self.samples.first, let last = self.samples.last, last.at > first.at else { return 0 }
        return Double(last.count - first.count) / ((last.at - first.at) / .seconds(1))
    }

    /// Estimates the time until this many more have been counted.
    ///
    /// Returns nil if the rate is 0.
    package func time(for count: Int) -> Duration? {
        let rate = self.perSecond
        return rate > 0 ? .seconds((Double(count) / rate).rounded(.up)) : nil
    }
}
