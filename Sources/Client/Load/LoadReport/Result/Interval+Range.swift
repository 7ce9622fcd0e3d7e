extension Interval {
    /// More than any tool sends in an interval, and so little that as many as a file can hold add up.
    private static let mostCounted = 10_000_000_000
    /// A hundred years: no run takes longer.
    private static let longest: Duration = .seconds(3_155_760_000)

    /// Whether intervals that were read follow one another, and every number in them is one that a run can have, so that
    /// their sums are numbers as well.
    static func canBeSummed(_ intervals: [Interval]) -> Bool {
        var end = Duration.zero
        for interval in intervals {
            guard interval.start >= end, interval.end >= interval.start, interval.end <= Self.longest,
                interval.hasPossibleNumbers
            else { return false }
            end = interval.end
        }
        return true
    }

    private var hasPossibleNumbers: Bool {
        Self.areCounts([self.unsent, self.violations.count]) && self.operations.values.allSatisfy(\.hasPossibleNumbers)
            && self.gauges.hasPossibleFigures
    }

    fileprivate static func areCounts(_ numbers: some Sequence<Int>) -> Bool {
        numbers.allSatisfy { (0...Self.mostCounted).contains($0) }
    }
}

extension OperationFigures {
    fileprivate var hasPossibleNumbers: Bool {
        Interval.areCounts(self.outcomes.values)
            && Interval.areCounts([self.unexpected, self.latency.count, self.serviceTime.count])
    }
}

extension Gauges {
    private static let possible = -1e15...1e15

    fileprivate var hasPossibleFigures: Bool {
        let figures: [Double?] = [
            Double(self.connections), Double(self.inFlight), self.plannedRate, self.serverCPUSeconds,
            self.serverResidentBytes.map(Double.init), self.toolCPUSeconds,
            self.verificationMicroseconds,
        ]
        return figures.allSatisfy { $0.map(Self.possible.contains) ?? true }
    }
}
