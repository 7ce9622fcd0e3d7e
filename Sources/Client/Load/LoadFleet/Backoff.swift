/// Exponential back-off with jitter, so that clients do not all reconnect at the same moment when a server comes back.
package struct Backoff: Sendable {
    package static let first: Duration = .milliseconds(50)
    package static let longest: Duration = .seconds(2)

    private var next = Self.first

    package init() {}

    /// Returns the pause after a failure.
    ///
    /// It doubles each time, up to ``longest``, and is then reduced at random by up to half.
    package mutating func nextPause(using generator: inout some RandomNumberGenerator) -> Duration {
        defer { self.next = min(self.next * 2, Self.longest) }
        return self.next * Double.random(in: 0.5...1, using: &generator)
    }

    /// Starts over after a success.
    package mutating func reset() { self.next = Self.first }
}
