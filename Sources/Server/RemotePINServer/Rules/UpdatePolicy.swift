package import Vocabulary

/// The versions of the app that are served, and the update notices for their users.
///
/// Each platform has ordered rules; the first rule that matches a version applies, and a version
/// without a match is ok.
package struct UpdatePolicy: Hashable, Sendable {
    /// The settings for one platform's versions, or nil if there is no requirement.
    package struct Versions: Hashable, Sendable {
        /// Lower versions are blocked.
        package var minimum: AppVersion?
        /// Users of lower versions are notified of an update.
        package var notify: AppVersion?

        package init(minimum: AppVersion? = nil, notify: AppVersion? = nil) {
            self.minimum = minimum
            self.notify = notify
        }

        /// The settings as rules.
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

    /// Creates the policy of the settings.
    package init(android: Versions = Versions(), iOS: Versions = Versions()) {
        self.init(android: android.rules, iOS: iOS.rules)
    }

    /// The rules of one platform.
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

    /// The verdict on the version that the app claims to have.
    package func verdict(on version: AppVersion, platform: Platform, at now: Timestamp) -> UpdateVerdict {
        self[platform].first { $0.fits(version) }?.verdict(at: now) ?? .ok
    }
}
