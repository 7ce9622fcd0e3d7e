internal import Crypto
internal import Vocabulary

extension Rollout {
    /// Returns whether a feature is turned on for a wallet.
    ///
    /// For a percentage, a hash of the feature and the wallet id assigns the wallet to one of 100 buckets, and the
    /// feature is turned on for the buckets below the percentage. Once included, a wallet therefore stays included as
    /// the percentage grows, on every server and after a restart. Different features start with different wallets.
    func includes(_ wallet: WalletID, for flag: FeatureFlag) -> Bool {
        switch self {
        case .off: false
        case .on: true
        case .wallets(let wallets): wallets.contains(wallet)
        case .percentage(let percentage): Self.bucket(of: wallet, for: flag) < percentage
        }
    }

    private static func bucket(of wallet: WalletID, for flag: FeatureFlag) -> Int {
        let input = Array("remote-pin/1 rollout \(flag.rawValue)".utf8) + [0] + wallet.bytes
        let number = SHA256.hash(data: input).prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return Int(number % 100)
    }
}
