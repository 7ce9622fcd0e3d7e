public import DeviceInterface
public import WalletFlows

extension Wallet {
    /// Settings for the host application, all of which have sensible defaults.
    public struct Settings: Sendable {
        /// The language of the texts and the product name used in them.
        public var wording = Wording()
        /// Whether to skip the splash screen.
        public var skipsSplash = false
        /// The issuer that identifies the user (UC3.1).
        ///
        /// If nil, ``AppEvent/pidRequested`` is sent to the observer instead.
        public var issuer: (any PIDIssuer)?
        /// The URL below which the wallet's links lie (PF2.7), without a query.
        ///
        /// Schemes, hosts, ports and paths are compared in the normal form of RFC 3986. A base that is not a URL has no
        /// links.
        public var linkBase = "https://wallet.example.org/link"
        /// The time until the wallet locks itself.
        public var lockTimes = LockTimes()
        /// Whether the phone's prompt confirms the host's actions in the safe biometric mode, instead of the PIN.
        ///
        /// It applies to ``Wallet/confirm(_:)`` only. The server does not count the attempts at such a prompt.
        public var confirmsWithPrompt = false

        /// Whether the fallback mode requires the PIN once after a biometric was enrolled on the phone.
        ///
        /// The keychain items of biometrics that are turned on with this setting end with such an enrollment
        /// (``ItemAccess/enrolledNow``), and the next PIN creates another one. So a finger that somebody enrolled with
        /// the phone's passcode does not open the wallet before its owner has entered the PIN. It does not apply to the
        /// safe mode, nor to unlocking with the passcode of the phone.
        public var pinAfterEnrollment = false

        /// Creates the default settings.
        public init() {}
    }
}
