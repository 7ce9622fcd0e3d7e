/// A rule in the update policy: a verdict on a range of versions.
///
/// Rules are ordered. The first one that matches a version applies.
package struct UpdateRule: Hashable, Sendable {
    /// The verdict of a rule.
    package enum Word: Hashable, Sendable {
        /// The versions are current.
        case ok
        /// An update is available.
        case notify
        /// An update is recommended.
        case recommend
        /// The versions will be blocked from the given time on, and an update is available.
        case warn(until: Timestamp)
        /// The versions are blocked (see ``UpdateVerdict/block(updateAvailable:)``).
        case block(updateAvailable: Bool)
    }

    /// The lowest version in the range, or nil if there is no lower bound.
    package let from: AppVersion?
    /// The lowest version above the range, or nil if there is no upper bound.
    package let below: AppVersion?
    /// The verdict on the versions in the range.
    package let word: Word

    /// The maximum number of rules for a platform.
    package static let most = 64

    /// Returns nil if the range is empty.
    package init?(from: AppVersion? = nil, below: AppVersion? = nil, _ word: Word) {
        if let below {
            guard from ?? Self.lowest < below else { return nil }
        }
        self.from = from
        self.below = below
        self.word = word
    }

    /// Returns whether a version is in the range.
    package func fits(_ version: AppVersion) -> Bool {
        if let from, version < from { return false }
        if let below, version >= below { return false }
        return true
    }

    /// Returns the verdict at the given time.
    ///
    /// A warning becomes a block once its time has come.
    package func verdict(at now: Timestamp) -> UpdateVerdict {
        switch self.word {
        case .ok: .ok
        case .notify: .notify
        case .recommend: .recommend
        case .warn(let until): until > now ? .warn(blockedIn: until - now) : .block(updateAvailable: true)
        case .block(let updateAvailable): .block(updateAvailable: updateAvailable)
        }
    }

    private static let lowest = AppVersion(number: 0)
}

extension AppVersion {
    /// Creates a version that consists of a single number.
    fileprivate init(number: UInt8) {
        self.numbers = [Int(number)]
    }
}
