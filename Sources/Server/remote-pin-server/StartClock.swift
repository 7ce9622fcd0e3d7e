internal import AttestationVerifier
internal import AuditLog
internal import ConfigText
internal import HostSystem
internal import RemotePINServer
internal import ServerSettings
internal import ServiceLifecycle
internal import Vocabulary

/// Checks the system clock when the server starts.
///
/// After that, the server only counts elapsed time.
///
/// Threat: a clock that is ahead ends blocks early and makes the purge remove wallets too soon. One that is behind
/// prolongs blocks and accepts expired evidence. The server's own files contain times at which its clock was right.
struct StartClock {
    /// A time that must be in the past if the clock is right.
    private struct Evidence {
        let source: String
        let time: Timestamp
    }

    /// A serving server updates the change time of `data.folder/lock`.
    private static let lock = "lock"
    private static let renewal: Duration = .seconds(15 * 60)

    private let evidence: [Evidence]
    private let tolerance: Duration?
    /// False before the first start, which may come days after installation.
    private let hasServed: Bool

    /// Collects the evidence.
    ///
    /// Must be called before the start changes any file.
    init(_ settings: ServerSettings, statusList: StatusListFile?) {
        let (data, audit) = (settings[SettingTable.dataFolder], settings[SettingTable.auditFile])
        var evidence: [Evidence] = []
        // The database changes with every session and every PIN attempt.
        for name in ["wallets.db", "wallets.db-wal", Self.lock] {
            guard let time = try? DurableFile.changeTime(of: "\(data)/\(name)") else { continue }
            evidence.append(Evidence(source: "the last change of \(data)/\(name)", time: Timestamp(nanoseconds: time)))
        }
        if let time = AuditLog.newestTime(at: audit) {
            evidence.append(Evidence(source: "the newest entry of \(audit)", time: time))
        }
        if let time = statusList?.current.fetched {
            evidence.append(Evidence(source: "the fetch of `android.status-list`", time: time))
        }
        self.evidence = evidence
        self.tolerance = settings[SettingTable.clockTolerance]
        self.hasServed = AuditLog.exists(at: audit)
    }

    /// Returns the reason not to start at this time, or nil if the clock is plausible.
    func problem(at now: Timestamp) -> Problem? {
        guard let tolerance, let newest = self.evidence.max(by: { $0.time < $1.time }) else { return nil }
        let wayOut =
            "set the clock; if it is right, start once with --\(SettingTable.clockTolerance.name) none (or "
            + "REMOTE_PIN_CLOCK_TOLERANCE=none)"
        if newest.time > now + tolerance {
            return Problem("the clock is \(Self.text(newest.time - now)) behind \(newest.source)", cure: wayOut)
        }
        if self.hasServed, now > newest.time + tolerance {
            let text = "the clock is \(Self.text(now - newest.time)) ahead of \(newest.source), the newest sign of life"
            return Problem(text, cure: wayOut)
        }
        return nil
    }

    /// Rejects an implausible clock.
    ///
    /// The exit status makes the service manager retry, because a machine without a clock battery sets its clock late.
    func check(at now: Timestamp) throws {
        guard let problem = self.problem(at: now) else { return }
        throw StartFailure(.unavailable, problem.description)
    }

    /// Touches the lock file regularly until graceful shutdown or cancellation.
    ///
    /// Without this, a server that no wallet used for days would reject the clock after a restart.
    static func renewSign(in dataFolder: String) async {
        await cancelWhenGracefulShutdown {
            repeat {
                try? DurableFile.touch("\(dataFolder)/\(Self.lock)")
            } while (try? await Task.sleep(for: Self.renewal)) != nil
        }
    }

    /// Formats a duration in whole days, or in a smaller unit if it is short.
    private static func text(_ duration: Duration) -> String {
        let seconds = duration.components.seconds
        let unit: Int64 = seconds >= 2 * 86_400 ? 86_400 : seconds >= 2 * 3600 ? 3600 : 60
        return DurationText.write(.seconds(seconds / unit * unit))
    }
}

extension Timestamp {
    fileprivate init(nanoseconds: Int64) { self.init(milliseconds: nanoseconds / 1_000_000) }
}
