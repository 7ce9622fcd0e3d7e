internal import Synchronization
internal import Vocabulary

/// A phone's clock.
///
/// It follows the lab's clock, but the owner can set it.
final class PhoneClock: WallClock {
    private let lab: any WallClock
    private let ahead = Mutex(Duration.zero)

    init(_ lab: any WallClock) {
        self.lab = lab
    }

    func now() -> Timestamp {
        self.lab.now() + self.ahead.withLock { $0 }
    }

    /// Sets the clock forward by a duration, or back by a negative one.
    func set(by change: Duration) {
        self.ahead.withLock { $0 += change }
    }
}
