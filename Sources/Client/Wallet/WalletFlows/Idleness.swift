internal import Vocabulary

/// The times when the app was last used and when it went out of sight, which determine when it must lock itself.
///
/// Time out of sight and time without use are measured separately. Coming back counts as use, unless the warning was
/// shown.
struct Idleness: Sendable {
    private var usedAt = Timestamp(milliseconds: 0)
    /// The latest reading of the clock, which may have been set back since an earlier one.
    private var seenAt = Timestamp(milliseconds: 0)
    private(set) var hiddenSince: Timestamp?

    /// Notes a reading of the clock while the app is in sight.
    ///
    /// A clock that was set back takes no time away: the last use moves back with it. Otherwise anyone who sets the
    /// phone's clock could keep an unattended app open.
    mutating func note(_ now: Timestamp) {
        if now < self.seenAt { self.usedAt = self.usedAt + (now - self.seenAt) }
        self.seenAt = now
    }

    /// The user selected, entered or presented something, or opened the app.
    mutating func use(at now: Timestamp) {
        (self.usedAt, self.seenAt) = (now, now)
        self.hiddenSince = nil
    }

    /// The user answered a question, perhaps outside the app: this is use, but does not bring the app into sight.
    mutating func answered(at now: Timestamp) {
        (self.usedAt, self.seenAt) = (now, now)
    }

    /// The app came back to the same screen, which does not count as use by itself.
    mutating func comeBack() {
        self.hiddenSince = nil
    }

    /// The app went out of sight; only the first call counts until it comes back.
    mutating func hide(at now: Timestamp) {
        self.hiddenSince = self.hiddenSince ?? now
    }

    /// The time that the app may still be out of sight before it must lock itself; nil while it is in sight.
    ///
    /// Zero if the clock was set back, because we cannot tell how long the app was out of sight.
    func timeLeftHidden(_ snapshot: Snapshot) -> Duration? {
        guard let hiddenSince = self.hiddenSince else { return nil }
        let time = snapshot.now - hiddenSince
        return time < .zero ? .zero : max(.zero, snapshot.lockTimes.background - time)
    }

    /// Returns whether the app was out of sight for too long.
    func wasHiddenTooLong(_ snapshot: Snapshot) -> Bool {
        self.timeLeftHidden(snapshot) == .zero
    }

    /// Returns whether the app was unused for too long.
    func isUnused(_ snapshot: Snapshot) -> Bool {
        snapshot.now - self.usedAt >= snapshot.lockTimes.inactivity
    }

    /// Returns whether the app was unused for so long that it must warn of the lock.
    func wantsWarning(_ snapshot: Snapshot) -> Bool {
        snapshot.now - self.usedAt >= snapshot.lockTimes.warning
    }

    /// The time at which the app will lock itself if it is not used.
    func locksAt(_ snapshot: Snapshot) -> Timestamp {
        self.usedAt + snapshot.lockTimes.inactivity
    }
}
