package import Vocabulary

/// Determines which versions of the app are served and which update notices their users get.
///
/// Each platform has an ordered list of rules. The first rule that matches a version applies. A version that matches no
/// rule is ok.
package struct UpdatePolicy: Hashable, Sendable {
    /// The version settings for one platform.
    ///
    /// A nil value sets no requirement.
    package struct Versions: Hashable, Sendable {
        /// The minimum version.
        ///
        /// Lower versions are blocked.
        package var minimum: AppVersion?
        /// The version below which users are notified of an update.
        package var notify: AppVersion?

        package init(minimum: AppVersion? = nil, notify: AppVersion? = nil) {
            self.minimum = minimum
            self.notify = notify
        }

        /// The rules equivalent to the settings.
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

    /// Creates the policy from the settings.
    package init(android: Versions = Versions(), iOS: Versions = Versions()) {
        self.init(android: android.rules, iOS: iOS.rules)
    }

    /// The rules for a platform.
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

    /// Returns the verdict on the version claimed by the app.
    package func verdict(on version: AppVersion, platform: Platform, at now: Timestamp) -> UpdateVerdict {
        self[platform].first { $0.fits(version) }?.verdict(at: now) ?? .ok
    }
}
