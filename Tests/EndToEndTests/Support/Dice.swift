import Foundation

/// SplitMix64 from a seed that the test prints, so that what it chose can be chosen again.
struct Dice: RandomNumberGenerator {
    let seed: UInt64
    private var state: UInt64

    /// The seed of the environment, or a new one; says which.
    init(for test: String) {
        let given = ProcessInfo.processInfo.environment["REMOTE_PIN_TEST_SEED"].flatMap { UInt64($0) }
        self.init(seed: given ?? .random(in: 0...999_999_999))
        print("\(test): REMOTE_PIN_TEST_SEED=\(self.seed)")
    }

    init(seed: UInt64) {
        self.seed = seed
        self.state = seed
    }

    mutating func next() -> UInt64 {
        self.state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = self.state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// True once in so many times.
    mutating func isOne(in count: Int) -> Bool { Int.random(in: 1...count, using: &self) == 1 }

    /// Dice of its own for each of several that throw at the same time.
    mutating func split() -> Dice { Dice(seed: self.next()) }
}
