/// One rule of the update policy: what is said to the versions of a range.
///
/// Rules stand in an order; the first one that fits a version counts.
public struct UpdateRule: Hashable, Sendable {
    /// What is said.
    public enum Word: Hashable, Sendable {
        case ok
        case notify
        case recommend
        /// The versions will be blocked, with an update available, from this time on.
        case warn(until: Timestamp)
        case block(updateAvailable: Bool)
    }

    /// The lowest version of the range; nil where there is none.
    public let from: AppVersion?
    /// The lowest version above the range; nil where there is none.
    public let below: AppVersion?
    public let word: Word

    /// The most rules that a platform may have.
    public static let most = 64

    /// Nil where no version is in the range.
    public init?(from: AppVersion? = nil, below: AppVersion? = nil, _ word: Word) {
        if let below {
            guard from ?? Self.lowest < below else { return nil }
        }
        self.from = from
        self.below = below
        self.word = word
    }

    /// Whether the rule is for this version.
    public func fits(_ version: AppVersion) -> Bool {
        if let from, version < from { return false }
        if let below, version >= below { return false }
        return true
    }

    /// What the rule says at a time: a warning whose time has come is a block.
    public func verdict(at now: Timestamp) -> UpdateVerdict {
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
    /// The version of one number that is at most 999 999.
    fileprivate init(number: UInt8) {
        self.numbers = [Int(number)]
    }
}
