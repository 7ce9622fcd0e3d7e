import Foundation
import TestSupport

/// Random numbers from a seed that the test prints, so that a run can be repeated.
struct SeededRandom: RandomNumberGenerator {
    let seed: UInt64
    private var generator: SeededGenerator

    /// Uses the seed in the environment or a new one, and prints it.
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

    /// Returns true once in `count` times, on average.
    mutating func isOne(in count: Int) -> Bool { Int.random(in: 1...count, using: &self) == 1 }

    /// Returns an independent generator, for concurrent use.
    mutating func split() -> SeededRandom { SeededRandom(seed: self.next()) }
}
