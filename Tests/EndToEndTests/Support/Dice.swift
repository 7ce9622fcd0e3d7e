import Foundation
import TestSupport

/// Numbers from a seed that the test prints, so that what it chose can be chosen again.
struct Dice: RandomNumberGenerator {
    let seed: UInt64
    private var generator: SeededGenerator

    /// The seed of the environment, or a new one; says which.
    init(for test: String) {
        let given = ProcessInfo.processInfo.environment["REMOTE_PIN_TEST_SEED"].flatMap { UInt64($0) }
        self.init(seed: given ?? .random(in: 0...999_999_999))
        print("\(test): REMOTE_PIN_TEST_SEED=\(self.seed)")
    }

    init(seed: UInt64) {
        self.seed = seed
        self.generator = SeededGenerator(seed: seed)
    }

    mutating func next() -> UInt64 { self.generator.next() }

    /// True once in so many times.
    mutating func isOne(in count: Int) -> Bool { Int.random(in: 1...count, using: &self) == 1 }

    /// Dice of its own for each of several that throw at the same time.
    mutating func split() -> Dice { Dice(seed: self.next()) }
}
