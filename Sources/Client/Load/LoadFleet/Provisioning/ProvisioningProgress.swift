internal import Vocabulary

/// The progress of a registration of wallets.
package struct ProvisioningProgress: Hashable, Sendable {
    /// The number of wallets that the file is to hold.
    package var total: Int
    /// The number of wallets that it held at the start.
    package var before: Int
    /// Wallets registered since then, by platform.
    package var android = 0
    package var iOS = 0
    /// Registrations repeated because no response arrived.
    package var repeated = 0
    /// The current obstacle; nil while wallets are being registered.
    package var trouble: FleetFailure?
    /// The time since the start.
    package var elapsed: Duration = .zero

    package init(total: Int, before: Int) {
        self.total = total
        self.before = before
    }

    /// Wallets registered by this call.
    package var registered: Int { self.android + self.iOS }
    /// Wallets in the file.
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

/// The rate over a sliding window, and an estimate of the remaining time.
package struct RateMeter: Sendable {
    private var samples: [(at: Duration, count: Int)] = []
    private let window: Duration

    /// - Parameter window: the length of the sliding window.
    package init(window: Duration = .seconds(10)) {
        self.window = window
    }

    /// Records the current value of an increasing count.
    package mutating func note(_ count: Int, at time: Duration) {
        self.samples.append((time, count))
        while self.samples.count > 2, time - self.samples[0].at > self.window { self.samples.removeFirst() }
    }

    /// The rate per second; 0 while unknown.
    package var perSecond: Double {
        guard let first = self.samples.first, let last = self.samples.last, last.at > first.at else { return 0 }
        return Double(last.count - first.count) / ((last.at - first.at) / .seconds(1))
    }

    /// The estimated time until this many more have been counted; nil if the rate is 0.
    package func time(for count: Int) -> Duration? {
        let rate = self.perSecond
        return rate > 0 ? .seconds((Double(count) / rate).rounded(.up)) : nil
    }
}
