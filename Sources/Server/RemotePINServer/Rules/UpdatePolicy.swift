public import Vocabulary

/// Which versions of the app are served, and which ones tell their user of an update.
public struct UpdatePolicy: Hashable, Sendable {
    /// The versions of one platform; nil where nothing is asked.
    public struct Versions: Hashable, Sendable {
        /// Lower ones are blocked.
        public var minimum: AppVersion?
        /// Lower ones notify.
        public var notify: AppVersion?

        public init(minimum: AppVersion? = nil, notify: AppVersion? = nil) {
            self.minimum = minimum
            self.notify = notify
        }
    }

    public var android: Versions
    public var iOS: Versions

    public init(android: Versions = Versions(), iOS: Versions = Versions()) {
        self.android = android
        self.iOS = iOS
    }

    /// The policy's word on a version, which is what the app claims to be.
    public func verdict(on version: AppVersion, platform: Platform) -> UpdateVerdict {
        let versions = platform == .android ? self.android : self.iOS
        if let minimum = versions.minimum, version < minimum { return .block(updateAvailable: true) }
        if let notify = versions.notify, version < notify { return .notify }
        return .ok
    }
}
