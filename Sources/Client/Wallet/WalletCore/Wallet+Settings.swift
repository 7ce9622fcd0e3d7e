public import DeviceInterface
public import WalletFlows

extension Wallet {
    /// What a host application sets; everything has a value that serves.
    public struct Settings: Sendable {
        /// Language and product name of the texts.
        public var wording = Wording()
        /// Whether the splash screen ends at once.
        public var skipsSplash = false
        /// Identifies the person (UC3.1); nil where nobody does, which the observer then hears of.
        public var issuer: (any PIDIssuer)?
        /// Links below this address are the wallet's own (PF2.7).
        public var linkBase = "https://wallet.example.org/link"
        public var lockTimes = LockTimes()

        public init() {}
    }
}
