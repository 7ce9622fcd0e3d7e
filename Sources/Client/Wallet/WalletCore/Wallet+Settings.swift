public import DeviceInterface
public import WalletFlows

extension Wallet {
    /// The settings of a host application, all of which have sensible defaults.
    public struct Settings: Sendable {
        /// Language and product name of the texts.
        public var wording = Wording()
        /// True to skip the splash screen.
        public var skipsSplash = false
        /// The issuer that identifies the user (UC3.1); if nil, the observer receives
        /// ``AppEvent/pidRequested``.
        public var issuer: (any PIDIssuer)?
        /// The URL prefix of links that belong to the wallet (PF2.7).
        public var linkBase = "https://wallet.example.org/link"
        /// The times after which the wallet locks itself.
        public var lockTimes = LockTimes()

        /// Creates the default settings.
        public init() {}
    }
}
