internal import Synchronization
internal import Vocabulary

/// A phone's clock.
///
/// It follows the lab's clock, but the owner can set it back.
final class PhoneClock: WallClock {
    private let lab: any WallClock
    private let behind = Mutex(Duration.zero)

    init(_ lab: any WallClock) {
        self.lab = lab
    }

    func now() -> Timestamp {
        self.lab.now() + (.zero - self.behind.withLock { $0 })
    }

    func setBack(by duration: Duration) {
        self.behind.withLock { $0 += duration }
    }
}
