internal import Glibc

/// The failures of the disk on which a server writes its audit log.
///
/// The log is a real file, and a limit of this process (`RLIMIT_FSIZE`) stops its growth. Like a full disk, the limit
/// accepts a part of a write and rejects reservations of space. Space that was reserved before can still be used.
struct AuditDisk {
    /// The number of writes before the failure, and its duration; nil if no failure is planned.
    private var countdown: (writes: Int, seconds: Int)?
    private var fullUntil: Int64 = 0
    /// Whether the next sync fails.
    var failsSync = false

    /// Rejects writes for a time, after this many successful ones.
    ///
    /// With 0 seconds, rejects only one write.
    mutating func refuse(after writes: Int, seconds: Int) { self.countdown = (writes, seconds) }

    func isFull(at time: Int64) -> Bool { time < self.fullUntil }

    /// Returns whether a write that begins now is rejected.
    mutating func refuses(at time: Int64) -> Bool {
        guard let countdown = self.countdown else { return self.isFull(at: time) }
        guard countdown.writes == 0 else {
            self.countdown = (countdown.writes - 1, countdown.seconds)
            return false
        }
        self.countdown = nil
        self.fullUntil = time + Int64(countdown.seconds) * 1_000_000
        return true
    }

    // MARK: The limit

    nonisolated(unsafe) private static var isLimited = false

    /// Prevents this process from writing to any file beyond a length.
    static func limit(to length: Int) {
        unsafe self.isLimited = true
        _ = signal(SIGXFSZ, SIG_IGN)
        self.set(rlim_t(length))
    }

    static func liftLimit() {
        guard unsafe self.isLimited else { return }
        unsafe self.isLimited = false
        self.set(self.unlimited)
    }

    private static func set(_ length: rlim_t) {
        var limit = rlimit(rlim_cur: length, rlim_max: self.unlimited)
        let status = unsafe setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
        precondition(status == 0, "a soft limit can be set")
    }

    private static let unlimited: rlim_t = {
        var limit = rlimit()
        _ = unsafe getrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
        return limit.rlim_max
    }()
}

extension ServerMachine {
    /// Runs a write of the audit log, which the disk may reject or fail to sync.
    func writeRecord(_ work: () -> Void) {
        if self.auditDisk.failsSync {
            self.auditDisk.failsSync = false
            unsafe FailingSync.isNext = true
            self.run.observer.note(self.name, "cannot sync its audit log")
            return work()
        }
        guard self.auditDisk.refuses(at: self.scheduler.now) else { return work() }
        self.run.observer.entryRefused(by: self.name)
        let torn = Int.random(in: 0...200, using: &self.generator)
        AuditDisk.limit(to: Self.allocated("\(self.folder)/audit.log") + torn)
        defer { AuditDisk.liftLimit() }
        work()
    }

    /// Ends the process for the audit log.
    ///
    /// A full disk must not cause this, because the log has reserved space for the end of each command.
    func auditEnds(_ reason: String) -> Never {
        if reason.contains("cannot record") { self.run.observer.report("a full disk ends the server") }
        self.die("the audit log ends the process: \(reason)", power: false)
    }

    /// Returns the space that a file has on the disk, including reserved space.
    private static func allocated(_ path: String) -> Int {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { return 0 }
        return max(Int(status.st_size), Int(status.st_blocks) * 512)
    }
}

/// The failure of one sync.
private enum FailingSync {
    nonisolated(unsafe) static var isNext = false
}

/// Replaces the C library's function in this program, whose files are in memory.
@_cdecl("fdatasync")
func synchronizeSimulatedFile(_ file: Int32) -> Int32 {
    guard unsafe FailingSync.isNext else { return 0 }
    unsafe FailingSync.isNext = false
    errno = EIO
    return -1
}
