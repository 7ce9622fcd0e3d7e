/// The app that is run by simulated devices and accepted by a lab's server.
package enum LabApp {
    /// The name of the Android package.
    package static let androidPackage = "org.example.wallet"
    /// The SHA-256 digest of the certificate that signed the Android package.
    package static let androidSigningDigest: [UInt8] = (0..<32).map { 0xA0 ^ ($0 &* 7) }
    /// The team that publishes the iOS app.
    package static let iOSTeam = "EXAMPLE123"
    /// The iOS app's bundle id.
    package static let iOSBundle = "org.example.wallet"
    /// The iOS app's id, which consists of the team and the bundle id.
    package static let iOSAppID = "\(Self.iOSTeam).\(Self.iOSBundle)"
    /// The app version on a new device.
    package static let version = "1.0.0"
}
