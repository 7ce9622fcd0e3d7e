internal import Lab
package import DeviceInterface
package import Vocabulary

/// The properties of a simulated device, stored in `profile.yaml` (docs/devices.md).
package struct DeviceProfile: Hashable, Sendable {
    package var platform: Platform
    package var osVersion: String
    package var brand: String
    package var model: String
    /// The package (Android) or the team and bundle identifier (iOS).
    package var appID: String
    package var appVersion: String
    /// Android: the version code, by which versions of the package are compared.
    package var appVersionCode: Int64
    package var isRooted: Bool
    /// Android: year and month, as in 202610.
    package var osPatchLevel: Int
    /// Android: year, month and day, as in 20261005; nil if the device reports none.
    package var vendorPatchLevel: Int?
    /// Android: as ``vendorPatchLevel``, for the boot image.
    package var bootPatchLevel: Int?
    /// Android: keys are stored in a separate security chip.
    package var hasStrongBox: Bool
    /// Android: the attestation key is from the vendor's server instead of the factory.
    package var isRemotelyProvisioned: Bool
    /// iOS: the app uses Apple's development service.
    package var usesDevelopmentService: Bool
    /// The error in the device's attestation, if any.
    package var fault: Fault?

    package var biometrics = BiometricSupport.none
    package var sensor = Sensor.match
    package var hasPasscode = true
    package var isScreenLocked = false

    package var network = Network.on
    /// The network faults of the next calls, one for each call.
    package var conditions: [NetworkCondition] = []

    package var issuer = IssuerBehavior.obtains
    /// The owner's recovery code.
    ///
    /// If nil, the owner has a unique code.
    package var recoveryCode: String?

    /// The availability of the network.
    package enum Network: String, Hashable, Sendable, CaseIterable {
        case on
        /// No network: the app asks the user to check the connection.
        case off
        /// A network in which the server cannot be reached.
        case unreachable
    }

    /// The result of a request to the issuer of identities.
    package enum IssuerBehavior: String, Hashable, Sendable, CaseIterable {
        case obtains
        /// The user cancels.
        case cancels
        /// The issuer cannot identify the user.
        case fails
    }

    /// True if the phone is online, even if it cannot reach the server.
    package var hasNetwork: Bool {
        get { self.network != .off }
        set { self.network = newValue ? .on : .off }
    }

    /// The biometrics as the app sees them.
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
