import Evidence
import Secrets
import Statements
import TestSupport
import Testing
import Vocabulary

@testable import LoadEngine

@Suite("Keys of a fleet's wallets")
struct FleetKeysTests {
    private static let seed = [UInt8](repeating: 3, count: 32)

    /// The derivation that the files of a fleet depend on.
    private static func derived(_ purpose: String, _ wallet: WalletID, _ generation: UInt8, count: Int) -> SecretBytes {
        let info = Array("pin-load/1 \(purpose)".utf8) + [0] + wallet.bytes + [0, 0, 0, generation]
        return SecretBytes(copying: self.seed).hkdfSHA256(info: info, count: count)
    }

    @Test("keys follow from the seed, the wallet's id and the generation", arguments: 0..<3 as Range<UInt8>)
    func derivation(generation: UInt8) throws {
        let (keys, wallet) = (FleetKeys(seed: Self.seed), WalletID.random())
        let hardwareKey = SigningKey(Self.derived("hardware key", wallet, 0, count: 48).p256SigningKey())
        #expect(keys.hardwareKey(of: wallet).publicKey == hardwareKey.publicKey)
        let id = PINKeyID(Self.derived("pin key id", wallet, generation, count: 16).exposedBytes())
        #expect(keys.pinKeyID(of: wallet, generation: UInt32(generation)) == id)
        let number =
            Self.derived("digits", wallet, generation, count: 8).exposedBytes()
            .reduce(0) { $0 << 8 | UInt64($1) } % 1_000_000
        let salt = Self.derived("salt", wallet, generation, count: 32)
        for (entry, digits) in [(PINChoice.right, number), (.wrong(0), (number + 1) % 1_000_000)] {
            let text = String(repeating: "0", count: 6 - "\(digits)".count) + "\(digits)"
            guard let pin = PIN(copying: Array(text.utf8)) else {
                Issue.record("six digits are a PIN")
                return
            }
            let publicKey = PINKey(pin: pin, salt: salt).publicKey
            // The second one comes from the cache.
            for _ in 0..<2 {
                let key = keys.pinKey(of: wallet, generation: UInt32(generation), entry: entry)
                #expect(key.publicKey == publicKey)
            }
        }
    }

    @Test("cached keys of other wallets, generations and entries are not confused")
    func cached() {
        let keys = FleetKeys(seed: Self.seed)
        var publicKeys: Set<[UInt8]> = []
        for wallet in [WalletID.random(), .random()] {
            for generation: UInt32 in 0..<2 {
                for entry in [PINChoice.right, .wrong(0), .wrong(1)] {
                    publicKeys.insert(keys.pinKey(of: wallet, generation: generation, entry: entry).publicKey.bytes)
                }
            }
        }
        #expect(publicKeys.count == 12)
    }

    @Test("a full cache forgets its values for a new one and keeps them for a known one")
    func bound() {
        let cache = BoundedCache<Int, String>(limit: 3)
        func numbers() -> [Int] { (0..<6).filter { cache[$0] != nil } }
        for number in 0..<3 { cache[number] = "first" }
        cache[1] = "second"
        #expect(numbers() == [0, 1, 2] && cache[1] == "second")
        cache[4] = "third"
        #expect(numbers() == [4] && cache[4] == "third")
        cache[5] = "fourth"
        #expect(numbers() == [4, 5])
    }
}
