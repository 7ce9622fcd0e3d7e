/// The app that a lab's server accepts and its simulated devices run.
public enum LabApp {
    /// The Android package.
    public static let androidPackage = "org.example.wallet"
    /// SHA-256 of the certificate that signed the Android package.
    public static let androidSigningDigest: [UInt8] = (0..<32).map { 0xA0 ^ ($0 &* 7) }
    /// The team that publishes the iOS app.
    public static let iOSTeam = "EXAMPLE123"
    /// The iOS app's bundle id.
    public static let iOSBundle = "org.example.wallet"
    /// The iOS app's id: team and bundle.
    public static let iOSAppID = "\(Self.iOSTeam).\(Self.iOSBundle)"
    /// The version that a new device runs.
    public static let version = "1.0.0"
}
