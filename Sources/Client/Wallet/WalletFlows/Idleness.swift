/// Tracks when the app was last used and when it went out of sight, which determines when it must lock itself.
///
/// Time spent out of sight and time without use are measured separately, both with ``Snapshot/uptime``. Coming back
/// counts as use, unless the warning is being shown.
struct Idleness: Sendable {
    private var usedAt = Duration.zero
    private(set) var hiddenSince: Duration?

    /// Notes that the user selected, entered or presented something, or opened the app.
    mutating func use(at uptime: Duration) {
        self.usedAt = uptime
        self.hiddenSince = nil
    }

    /// Notes that the user answered a question, perhaps outside the app.
    ///
    /// This counts as use, but does not bring the app into sight.
    mutating func answered(at uptime: Duration) {
        self.usedAt = uptime
    }

    /// Notes that the app came back to the same screen, which does not count as use by itself.
    mutating func comeBack() {
        self.hiddenSince = nil
    }

    /// Notes that the app went out of sight.
    ///
    /// Further calls have no effect until it comes back.
    mutating func hide(at uptime: Duration) {
        self.hiddenSince = self.hiddenSince ?? uptime
    }

    /// Returns how long the app may stay out of sight before it must lock itself, or nil if it is visible.
    func timeLeftHidden(_ snapshot: Snapshot) -> Duration? {
        self.hiddenSince.map { max(.zero, snapshot.lockTimes.background - (snapshot.uptime - $0)) }
    }

    /// Returns whether the app has been out of sight for too long.
    func wasHiddenTooLong(_ snapshot: Snapshot) -> Bool {
        self.timeLeftHidden(snapshot) == .zero
    }

    /// Returns whether the app has not been used for too long.
    func isUnused(_ snapshot: Snapshot) -> Bool {
        snapshot.uptime - self.usedAt >= snapshot.lockTimes.inactivity
    }

    /// Returns whether the app has not been used for so long that it must warn the user about the lock.
    func wantsWarning(_ snapshot: Snapshot) -> Bool {
        snapshot.uptime - self.usedAt >= snapshot.lockTimes.warning
    }

    /// Returns the uptime at which the app will lock itself if it is not used.
    func locksAt(_ snapshot: Snapshot) -> Duration {
        self.usedAt + snapshot.lockTimes.inactivity
    }
}
