internal import Lab
package import DeviceInterface
package import Vocabulary

/// The properties of a simulated device, stored in `profile.yaml` (docs/devices.md).
package struct DeviceProfile: Hashable, Sendable {
    package var platform: Platform
    package var osVersion: String
    package var brand: String
    package var model: String
    /// The package name on Android, or the team and bundle identifier on iOS.
    package var appID: String
    package var appVersion: String
    /// Android: the version code, used to compare versions of the package.
    package var appVersionCode: Int64
    package var isRooted: Bool
    /// Android: the year and month, such as 202610.
    package var osPatchLevel: Int
    /// Android: the year, month and day, such as 20261005, or nil if the device does not report them.
    package var vendorPatchLevel: Int?
    /// Android: like ``vendorPatchLevel``, for the boot image.
    package var bootPatchLevel: Int?
    /// Android: whether keys are stored in a separate security chip.
    package var hasStrongBox: Bool
    /// Android: whether the attestation key was provisioned by the vendor's server instead of the factory.
    package var isRemotelyProvisioned: Bool
    /// iOS: whether the app uses Apple's development service.
    package var usesDevelopmentService: Bool
    /// The fault in the device's evidence, if any.
    package var fault: Fault?

    package var biometrics = BiometricSupport.none
    package var sensor = Sensor.match
    package var hasPasscode = true
    package var isScreenLocked = false

    package var network = Network.on
    /// The network faults for the next calls, one per call.
    package var conditions: [NetworkCondition] = []

    package var issuer = IssuerBehavior.obtains
    /// The owner's recovery code, or nil if the owner has a unique code.
    package var recoveryCode: String?

    /// The availability of the network.
    package enum Network: String, Hashable, Sendable, CaseIterable {
        case on
        /// The phone has no network, so the app asks the user to check the connection.
        case off
        /// The phone has a network connection, but cannot reach the server.
        case unreachable
    }

    /// The issuer's response to a request for an identity.
    package enum IssuerBehavior: String, Hashable, Sendable, CaseIterable {
        case obtains
        /// The user cancels.
        case cancels
        /// The issuer cannot identify the user.
        case fails
    }

    /// Whether the phone is online, even if it cannot reach the server.
    package var hasNetwork: Bool {
        get { self.network != .off }
        set { self.network = newValue ? .on : .off }
    }

    /// The biometrics as reported to the app.
    ///
    /// Phones do not allow enrollment without a passcode.
    package var usableBiometrics: BiometricSupport {
        self.biometrics.isEnrolled && !self.hasPasscode ? .notEnrolled : self.biometrics
    }

    /// Creates a healthy device that runs the lab's app.
    package init(_ platform: Platform) {
        let isAndroid = platform == .android
        let android = AndroidPhone()
        self.platform = platform
        self.osVersion = isAndroid ? android.osVersion : "26.1"
        self.brand = isAndroid ? android.brand : "Apple"
        self.model = isAndroid ? android.model : "iPhone17,1"
        self.appID = isAndroid ? android.package : LabApp.iOSAppID
        self.appVersion = LabApp.version
        self.appVersionCode = android.packageVersion
        self.isRooted = false
        self.osPatchLevel = android.osPatchLevel
        self.vendorPatchLevel = android.vendorPatchLevel
        self.bootPatchLevel = android.bootPatchLevel
        self.hasStrongBox = false
        self.isRemotelyProvisioned = false
        self.usesDevelopmentService = false
    }
}
