/// The app that a lab's server accepts and its simulated devices run.
package enum LabApp {
    /// The Android package.
    package static let androidPackage = "org.example.wallet"
    /// SHA-256 of the certificate that signed the Android package.
    package static let androidSigningDigest: [UInt8] = (0..<32).map { 0xA0 ^ ($0 &* 7) }
    /// The team that publishes the iOS app.
    package static let iOSTeam = "EXAMPLE123"
    /// The iOS app's bundle id.
    package static let iOSBundle = "org.example.wallet"
    /// The iOS app's id: team and bundle.
    package static let iOSAppID = "\(Self.iOSTeam).\(Self.iOSBundle)"
    /// The version on a new device.
    package static let version = "1.0.0"
}
