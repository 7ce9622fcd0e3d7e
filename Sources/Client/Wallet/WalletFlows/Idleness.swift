internal import Vocabulary

/// When the app was used last, and since when it is out of sight; decides when an unlocked app has to lock itself.
///
/// Times out of sight and times without use are two clocks: coming back counts as use, unless the warning was there.
struct Idleness: Sendable {
    private var usedAt = Timestamp(milliseconds: 0)
    private(set) var hiddenSince: Timestamp?

    /// Something was selected, entered or held to the phone, or the app was opened.
    mutating func use(at now: Timestamp) {
        self.usedAt = now
        self.hiddenSince = nil
    }

    /// The person answered something, perhaps outside the app: use, which brings an app that is out of sight no nearer.
    mutating func answered(at now: Timestamp) {
        self.usedAt = now
    }

    /// The app came back and shows what it showed, which is no use by itself.
    mutating func comeBack() {
        self.hiddenSince = nil
    }

    /// The app went out of sight; the first time counts.
    mutating func hide(at now: Timestamp) {
        self.hiddenSince = self.hiddenSince ?? now
    }

    /// How long it may still be out of sight before it has to lock itself; nil while it is in sight.
    ///
    /// None where the clock was set back meanwhile: nobody knows how long it was.
    func timeLeftHidden(_ snapshot: Snapshot) -> Duration? {
        guard let hiddenSince = self.hiddenSince else { return nil }
        let time = snapshot.now - hiddenSince
        return time < .zero ? .zero : max(.zero, snapshot.lockTimes.background - time)
    }

    /// Whether it was out of sight for too long.
    func wasHiddenTooLong(_ snapshot: Snapshot) -> Bool {
        self.timeLeftHidden(snapshot) == .zero
    }

    /// Whether it was not used for too long.
    func isUnused(_ snapshot: Snapshot) -> Bool {
        snapshot.now - self.usedAt >= snapshot.lockTimes.inactivity
    }

    /// Whether it was not used for so long that somebody should say whether they are still there.
    func wantsWarning(_ snapshot: Snapshot) -> Bool {
        snapshot.now - self.usedAt >= snapshot.lockTimes.warning
    }

    /// When it will lock itself if it is not used.
    func locksAt(_ snapshot: Snapshot) -> Timestamp {
        self.usedAt + snapshot.lockTimes.inactivity
    }
}
