public import DeviceInterface
public import WalletFlows

extension Wallet {
    /// The settings of a host application; every setting has a usable default.
    public struct Settings: Sendable {
        /// Language and product name of the texts.
        public var wording = Wording()
        /// True to end the splash screen at once.
        public var skipsSplash = false
        /// The issuer that identifies the user (UC3.1); if nil, the observer receives
        /// ``AppEvent/pidRequested``.
        public var issuer: (any PIDIssuer)?
        /// The address below which links belong to the wallet (PF2.7).
        public var linkBase = "https://wallet.example.org/link"
        /// The times after which the wallet locks.
        public var lockTimes = LockTimes()

        /// Creates the default settings.
        public init() {}
    }
}
