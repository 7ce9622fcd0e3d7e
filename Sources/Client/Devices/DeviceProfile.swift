internal import Lab
public import Vocabulary
internal import Yams

/// What a simulated device is: the file `profile.yaml`.
public struct DeviceProfile: Hashable, Sendable, Codable {
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
    public var hasNetwork: Bool
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

    /// A healthy device of each platform that runs the lab's app.
    public init(_ platform: Platform) {
        let isAndroid = platform == .android
        self.platform = platform
        self.osVersion = isAndroid ? "16" : "26.1"
        self.brand = isAndroid ? "Example" : "Apple"
        self.model = isAndroid ? "Example One" : "iPhone17,1"
        self.appID = isAndroid ? LabApp.androidPackage : "\(LabApp.iOSTeam).\(LabApp.iOSBundle)"
        self.appVersion = "1.0.0"
        self.appVersionCode = 100
        self.isRooted = false
        self.hasNetwork = true
        self.osPatchLevel = 202_610
        self.vendorPatchLevel = 20_261_005
        self.bootPatchLevel = 20_261_005
        self.hasStrongBox = false
        self.isRemotelyProvisioned = false
        self.usesDevelopmentService = false
        self.fault = nil
    }

    private enum CodingKeys: String, CodingKey {
        case platform
        case osVersion = "os_version"
        case brand
        case model
        case appID = "app_id"
        case appVersion = "app_version"
        case appVersionCode = "app_version_code"
        case isRooted = "rooted"
        case hasNetwork = "network"
        case osPatchLevel = "os_patch_level"
        case vendorPatchLevel = "vendor_patch_level"
        case bootPatchLevel = "boot_patch_level"
        case hasStrongBox = "strongbox"
        case isRemotelyProvisioned = "remote_provisioning"
        case usesDevelopmentService = "development_service"
        case fault
    }

    /// Reads the file's text; what is not stated is as in a healthy device.
    init?(yaml: String) {
        guard let profile = try? YAMLDecoder().decode(DeviceProfile.self, from: yaml) else { return nil }
        self = profile
    }

    /// The file's text.
    var yaml: String {
        get throws { try YAMLEncoder().encode(self) }
    }

    public init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        guard let platform = Platform(rawValue: try fields.decode(String.self, forKey: .platform)) else {
            throw DecodingError.dataCorruptedError(forKey: .platform, in: fields, debugDescription: "android or ios")
        }
        self.init(platform)
        func set<Value: Decodable>(_ path: WritableKeyPath<DeviceProfile, Value>, _ key: CodingKeys) throws {
            if let value = try fields.decodeIfPresent(Value.self, forKey: key) { self[keyPath: path] = value }
        }
        try set(\.osVersion, .osVersion)
        try set(\.brand, .brand)
        try set(\.model, .model)
        try set(\.appID, .appID)
        try set(\.appVersion, .appVersion)
        try set(\.appVersionCode, .appVersionCode)
        try set(\.isRooted, .isRooted)
        try set(\.hasNetwork, .hasNetwork)
        try set(\.osPatchLevel, .osPatchLevel)
        try set(\.hasStrongBox, .hasStrongBox)
        try set(\.isRemotelyProvisioned, .isRemotelyProvisioned)
        try set(\.usesDevelopmentService, .usesDevelopmentService)
        self.vendorPatchLevel = try fields.decodeIfPresent(Int.self, forKey: .vendorPatchLevel)
        self.bootPatchLevel = try fields.decodeIfPresent(Int.self, forKey: .bootPatchLevel)
        self.fault = try fields.decodeIfPresent(Fault.self, forKey: .fault)
    }

    public func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: CodingKeys.self)
        try fields.encode(self.platform.rawValue, forKey: .platform)
        try fields.encode(self.osVersion, forKey: .osVersion)
        try fields.encode(self.brand, forKey: .brand)
        try fields.encode(self.model, forKey: .model)
        try fields.encode(self.appID, forKey: .appID)
        try fields.encode(self.appVersion, forKey: .appVersion)
        try fields.encode(self.appVersionCode, forKey: .appVersionCode)
        try fields.encode(self.isRooted, forKey: .isRooted)
        try fields.encode(self.hasNetwork, forKey: .hasNetwork)
        try fields.encode(self.osPatchLevel, forKey: .osPatchLevel)
        try fields.encodeIfPresent(self.vendorPatchLevel, forKey: .vendorPatchLevel)
        try fields.encodeIfPresent(self.bootPatchLevel, forKey: .bootPatchLevel)
        try fields.encode(self.hasStrongBox, forKey: .hasStrongBox)
        try fields.encode(self.isRemotelyProvisioned, forKey: .isRemotelyProvisioned)
        try fields.encode(self.usesDevelopmentService, forKey: .usesDevelopmentService)
        try fields.encodeIfPresent(self.fault, forKey: .fault)
    }
}
