internal import ConfigText

/// The unit of a stage's load.
package enum LoadUnit: String, Hashable, Sendable, CaseIterable {
    /// A closed loop with this many connections, each with one check in flight.
    case connections
    /// An open loop in which this many checks become due per second, no matter how fast the server is.
    case perSecond
}

/// A period of a run during which the load is constant or changes at a constant rate.
package struct Stage: Hashable, Sendable {
    /// The way the load changes during the stage.
    package enum Shape: Hashable, Sendable {
        /// A linear change from the load at the end of the previous stage.
        ///
        /// The first stage starts at 0.
        case ramp(to: Double)
        /// A jump to a constant load.
        case at(Double)
        /// The load at the end of the previous stage.
        case hold
    }

    /// The name of the stage, empty if it has none.
    package var name: String
    /// The duration, which may be zero.
    ///
    /// A ramp without a duration is a jump.
    package var duration: Duration
    package var shape: Shape

    package init(_ shape: Shape, for duration: Duration, name: String = "") {
        self.name = name
        self.duration = duration
        self.shape = shape
    }

    /// Returns the text form without the name, as parsed by ``Stages/init(parsing:)``.
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
