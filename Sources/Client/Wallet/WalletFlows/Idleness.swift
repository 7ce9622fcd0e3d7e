internal import Vocabulary

/// Tracks when the app was last used and when it went out of sight, which determines when it must lock itself.
///
/// Time spent out of sight and time without use are measured separately. Coming back counts as use, unless the warning
/// is being shown.
struct Idleness: Sendable {
    private var usedAt = Timestamp(milliseconds: 0)
    /// The last time read from the clock, which may have been set back since an earlier reading.
    private var seenAt = Timestamp(milliseconds: 0)
    private(set) var hiddenSince: Timestamp?

    /// Notes the current time while the app is visible.
    ///
    /// If the clock is set back, the last use moves back with it, so that the idle time measured so far still counts.
    /// Otherwise, anyone could keep an unattended app open by changing the phone's clock.
    mutating func note(_ now: Timestamp) {
        if now < self.seenAt { self.usedAt = self.usedAt + (now - self.seenAt) }
        self.seenAt = now
    }

    /// Notes that the user selected, entered or presented something, or opened the app.
    mutating func use(at now: Timestamp) {
        (self.usedAt, self.seenAt) = (now, now)
        self.hiddenSince = nil
    }

    /// Notes that the user answered a question, perhaps outside the app.
    ///
    /// This counts as use, but does not bring the app into sight.
    mutating func answered(at now: Timestamp) {
        (self.usedAt, self.seenAt) = (now, now)
    }

    /// Notes that the app came back to the same screen, which does not count as use by itself.
    mutating func comeBack() {
        self.hiddenSince = nil
    }

    /// Notes that the app went out of sight.
    ///
    /// Further calls have no effect until it comes back.
    mutating func hide(at now: Timestamp) {
        self.hiddenSince = self.hiddenSince ?? now
    }

    /// Returns how long the app may stay out of sight before it must lock itself, or nil if it is visible.
    ///
    /// The result is zero if the clock was set back, because we cannot tell how long the app was out of sight.
    func timeLeftHidden(_ snapshot: Snapshot) -> Duration? {
        guard let hiddenSince = self.hiddenSince else { return nil }
        let time = snapshot.now - hiddenSince
        return time < .zero ? .zero : max(.zero, snapshot.lockTimes.background - time)
    }

    /// Returns whether the app has been out of sight for too long.
    func wasHiddenTooLong(_ snapshot: Snapshot) -> Bool {
        self.timeLeftHidden(snapshot) == .zero
    }

    /// Returns whether the app has not been used for too long.
    func isUnused(_ snapshot: Snapshot) -> Bool {
        snapshot.now - self.usedAt >= snapshot.lockTimes.inactivity
    }

    /// Returns whether the app has not been used for so long that it must warn the user about the lock.
    func wantsWarning(_ snapshot: Snapshot) -> Bool {
        snapshot.now - self.usedAt >= snapshot.lockTimes.warning
    }

    /// Returns the time at which the app will lock itself if it is not used.
    func locksAt(_ snapshot: Snapshot) -> Timestamp {
        self.usedAt + snapshot.lockTimes.inactivity
    }
}
