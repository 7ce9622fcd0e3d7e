internal import ConfigText

/// In a closed loop, the pause on a connection between a reply and the next check.
package struct ThinkTime: Hashable, Sendable {
    package let shortest: Duration
    package let longest: Duration

    package static let none = ThinkTime(shortest: .zero, longest: .zero)

    private init(shortest: Duration, longest: Duration) {
        self.shortest = shortest
        self.longest = longest
    }

    /// Parses `200ms`, or `200ms..1s` for a uniform distribution.
    package init(parsing text: String, place: String = "--think") throws(PlanProblem) {
        let parts = text.components(separatedBy: "..")
        let times = parts.compactMap(DurationText.read)
        guard times.count == parts.count, (1...2).contains(times.count), let first = times.first, let last = times.last
        else { throw PlanProblem(place: place, "`\(text)` is not a duration, `200ms`, or a range, `200ms..1s`") }
        guard first <= last else { throw PlanProblem(place: place, "the range `\(text)` ends before it begins") }
        self.init(shortest: first, longest: last)
    }

    /// Draws a pause, which may be zero.
    package func draw(using generator: inout PlanGenerator) -> Duration {
        guard self.shortest < self.longest else { return self.shortest }
        return self.shortest + (self.longest - self.shortest) * generator.nextUnit()
    }

    /// The text form, as parsed by ``init(parsing:place:)``.
    package var text: String {
        let shortest = DurationText.write(self.shortest)
        return self.shortest == self.longest ? shortest : "\(shortest)..\(DurationText.write(self.longest))"
    }
}

extension String {
    /// Splits the string at each occurrence of `separator`.
    func components(separatedBy separator: String) -> [String] {
        self.split(separator: separator, omittingEmptySubsequences: false).map(String.init)
    }
}
