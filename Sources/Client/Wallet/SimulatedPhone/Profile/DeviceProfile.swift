internal import Lab
public import DeviceInterface
public import Vocabulary

/// What a simulated device is: the file `profile.yaml` (docs/devices.md).
public struct DeviceProfile: Hashable, Sendable {
    public var platform: Platform
    public var osVersion: String
    public var brand: String
    public var model: String
    /// Android: the package; iOS: team and bundle.
    public var appID: String
    public var appVersion: String
    /// Android: the number by which versions of the package are compared.
    public var appVersionCode: Int64
    public var isRooted: Bool
    /// Android: year and month, as in 202610.
    public var osPatchLevel: Int
    /// Android: year, month and day, as in 20261005; nil where the device states none.
    public var vendorPatchLevel: Int?
    /// Android: as ``vendorPatchLevel``.
    public var bootPatchLevel: Int?
    /// Android: keys live in a secure element of their own.
    public var hasStrongBox: Bool
    /// Android: the attestation key was fetched from the vendor's servers, not put in at the factory.
    public var isRemotelyProvisioned: Bool
    /// iOS: the app uses Apple's development service.
    public var usesDevelopmentService: Bool
    /// What the device does wrong.
    public var fault: Fault?

    public var biometrics = BiometricSupport.none
    public var sensor = Sensor.match
    public var hasPasscode = true
    public var isScreenLocked = false

    public var network = Network.on
    /// What the network does to the next calls, each to one of them.
    public var conditions: [NetworkCondition] = []

    public var issuer = IssuerBehavior.obtains
    /// Of the phone's owner, who is somebody of their own where this is nil.
    public var recoveryCode: String?

    /// Whether the phone has a network.
    public enum Network: String, Hashable, Sendable, CaseIterable {
        case on
        /// No network: the person is told to look at their connection.
        case off
        /// There is a network and the server is not in it.
        case unreachable
    }

    /// What the issuer of identities does with the phone's owner.
    public enum IssuerBehavior: String, Hashable, Sendable, CaseIterable {
        case obtains
        /// The owner turns back.
        case cancels
        /// The issuer cannot identify them.
        case fails
    }

    /// Whether there is a network connection, whatever it reaches.
    public var hasNetwork: Bool {
        get { self.network != .off }
        set { self.network = newValue ? .on : .off }
    }

    /// What an app sees: without a passcode no phone lets anybody enroll.
    public var usableBiometrics: BiometricSupport {
        self.biometrics.isEnrolled && !self.hasPasscode ? .notEnrolled : self.biometrics
    }

    /// A healthy device of each platform that runs the lab's app.
    public init(_ platform: Platform) {
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
