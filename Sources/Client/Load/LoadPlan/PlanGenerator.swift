internal import Glibc

/// A run's random number generator, SplitMix64, which makes runs reproducible from a seed.
///
/// Never use it for secrets. Each lane has its own stream because lanes run concurrently. With a shared stream,
/// requests would depend on the order in which the lanes draw.
package struct PlanGenerator: RandomNumberGenerator, Sendable {
    private var state: UInt64

    package init(seed: UInt64) {
        self.state = seed
    }

    /// Creates one of the streams derived from a seed.
    package init(seed: UInt64, stream: UInt64) {
        var mixer = PlanGenerator(seed: seed ^ 0x6A09_E667_F3BC_C908)
        mixer.state = mixer.next() ^ stream &* 0xD1B5_4A32_D192_ED03
        self.state = mixer.next()
    }

    package mutating func next() -> UInt64 {
        self.state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = self.state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// Returns a number uniformly distributed in `0..<1`, in steps of 2⁻⁵³.
    package mutating func nextUnit() -> Double { Double(self.next() >> 11) * 0x1p-53 }

    /// Returns a positive number from an exponential distribution with mean 1.
    package mutating func nextExponential() -> Double { -log(1 - self.nextUnit()) }

    /// Returns a number uniformly distributed in `0..<bound`.
    ///
    /// The bias is below bound / 2⁶⁴.
    ///
    /// - Precondition: `bound` is positive.
    package mutating func next(below bound: Int) -> Int {
        precondition(bound > 0, "the bound must be positive")
        return Int(self.next().multipliedFullWidth(by: UInt64(bound)).high)
    }
}
