internal import Synchronization
internal import Vocabulary

/// The clock of a phone, whose owner may set it back; it follows the lab's clock.
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
