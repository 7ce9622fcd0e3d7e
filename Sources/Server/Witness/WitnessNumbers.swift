/// The numbers that a witness uses to recognize an older store.
///
/// Neither of them ever decreases.
package struct WitnessNumbers: Hashable, Sendable, CustomStringConvertible {
    /// The store's generation.
    ///
    /// It increases with every commit that changes the store.
    package var generation: UInt64
    /// The number of witness requests.
    ///
    /// It increases by one with each request, so that a simple counter can serve as a witness.
    package var step: UInt64

    package init(generation: UInt64, step: UInt64) {
        self.generation = generation
        self.step = step
    }

    package var description: String { "generation \(self.generation), step \(self.step)" }
}

/// The numbers on record with a witness, including those in the request.
///
/// It may record only one of them.
package struct WitnessRecord: Hashable, Sendable, Decodable, CustomStringConvertible {
    package var generation: UInt64?
    package var step: UInt64?

    package init(generation: UInt64?, step: UInt64?) {
        self.generation = generation
        self.step = step
    }

    /// Returns whether the witness has seen a later state of the store.
    package func isAhead(of numbers: WitnessNumbers) -> Bool {
        self.generation ?? 0 > numbers.generation || self.step ?? 0 > numbers.step
    }

    package var description: String {
        [self.generation.map { "generation \($0)" }, self.step.map { "step \($0)" }].compactMap(\.self)
            .joined(separator: ", ")
    }
}

/// The reason a witness did not answer.
///
/// Repair the witness, or ask again later.
package struct WitnessSilence: Error, Hashable, Sendable, CustomStringConvertible {
    package let description: String

    init(_ description: String) { self.description = description }
}
