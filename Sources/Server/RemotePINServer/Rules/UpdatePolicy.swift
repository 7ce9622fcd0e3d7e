package import Vocabulary

/// Which versions of the app are served, and what their users are told of updates.
///
/// Ordered rules for each platform; the first one that fits a version counts, and a version that none fits is fine.
package struct UpdatePolicy: Hashable, Sendable {
    /// What the settings say of one platform's versions; nil where nothing is asked.
    package struct Versions: Hashable, Sendable {
        /// Lower ones are blocked.
        package var minimum: AppVersion?
        /// Lower ones notify.
        package var notify: AppVersion?

        package init(minimum: AppVersion? = nil, notify: AppVersion? = nil) {
            self.minimum = minimum
            self.notify = notify
        }

        /// The same as rules.
        var rules: [UpdateRule] {
            [
                self.minimum.flatMap { UpdateRule(below: $0, .block(updateAvailable: true)) },
                self.notify.flatMap { UpdateRule(below: $0, .notify) },
            ].compactMap(\.self)
        }
    }

    package var android: [UpdateRule]
    package var iOS: [UpdateRule]

    package init(android: [UpdateRule], iOS: [UpdateRule]) {
        self.android = android
        self.iOS = iOS
    }

    /// The policy that the settings make.
    package init(android: Versions = Versions(), iOS: Versions = Versions()) {
        self.init(android: android.rules, iOS: iOS.rules)
    }

    /// One platform's rules.
    package subscript(_ platform: Platform) -> [UpdateRule] {
        get {
            switch platform {
            case .android: self.android
            case .iOS: self.iOS
            }
        }
        set {
            switch platform {
            case .android: self.android = newValue
            case .iOS: self.iOS = newValue
            }
        }
    }

    /// The policy's word on a version, which is what the app claims to be.
    package func verdict(on version: AppVersion, platform: Platform, at now: Timestamp) -> UpdateVerdict {
        self[platform].first { $0.fits(version) }?.verdict(at: now) ?? .ok
    }
}
