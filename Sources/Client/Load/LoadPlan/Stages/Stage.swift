internal import ConfigText

/// What a stage's numbers count.
package enum LoadUnit: String, Hashable, Sendable, CaseIterable {
    /// A closed loop: so many connections, each with one check at a time.
    case connections
    /// An open loop: so many checks become due in each second, whatever the server does.
    case perSecond
}

/// A piece of a run in which the load moves in one way.
package struct Stage: Hashable, Sendable {
    /// How the load gets to where it is at the stage's end.
    package enum Shape: Hashable, Sendable {
        /// In a straight line from where the stage before ended; the first begins at 0.
        case ramp(to: Double)
        /// At once, and it stays there: a spike, or a hold.
        case at(Double)
        /// Stays where the stage before ended.
        case hold
    }

    /// Empty where it was given none.
    package var name: String
    /// At least 0; a stage of no time with a ramp is a jump.
    package var duration: Duration
    package var shape: Shape

    package init(_ shape: Shape, for duration: Duration, name: String = "") {
        self.name = name
        self.duration = duration
        self.shape = shape
    }

    /// As ``Stages/init(parsing:)`` reads it, without the name.
    func text(_ unit: LoadUnit) -> String {
        let suffix = unit == .perSecond ? "/s" : ""
        let time = DurationText.write(self.duration)
        switch self.shape {
        case .ramp(let level): return "\(time):\(CountText.write(level))\(suffix)"
        case .at(let level): return "\(time):=\(CountText.write(level))\(suffix)"
        case .hold: return time
        }
    }
}
