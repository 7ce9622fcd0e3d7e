internal import AttestationVerifier
internal import AuditLog
internal import ConfigText
internal import HostSystem
internal import RemotePINServer
internal import ServerCommandLine
internal import ServerSettings
internal import ServiceLifecycle
internal import Vocabulary

/// The check of the system's clock at the start, after which the server only counts the elapsed time.
///
/// Threat: a clock that is ahead ends blocks early, and the purge removes wallets too soon; one that is behind prolongs
/// blocks and accepts expired evidence. The server's own files contain times at which its clock was right.
struct StartClock {
    /// A time in the recent past if the clock is right.
    private struct Evidence {
        let source: String
        let time: Timestamp
    }

    /// `data.folder/lock`, whose change time a serving server renews.
    private static let lock = "lock"
    private static let renewal: Duration = .seconds(15 * 60)

    private let evidence: [Evidence]
    private let tolerance: Duration?
    /// False before the first start, which may follow the installation after days.
    private let hasServed: Bool

    /// Collects the evidence before the start changes any file.
    init(_ settings: ServerSettings, statusList: StatusListFile?) {
        let (data, audit) = (settings[SettingTable.dataFolder], settings[SettingTable.auditFile])
        var evidence: [Evidence] = []
        // The database changes with every session and every PIN.
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

    /// The reason not to start at this time; nil if the clock is plausible.
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
    /// The exit status lets the service manager try again: the clock of a machine without a battery is set late.
    func check(at now: Timestamp) throws {
        guard let problem = self.problem(at: now) else { return }
        throw StartFailure(.unavailable, problem.description)
    }

    /// Renews the sign of life until graceful shutdown or cancellation.
    ///
    /// Without it, a server that no wallet used for days would reject the clock after a restart.
    static func renewSign(in dataFolder: String) async {
        await cancelWhenGracefulShutdown {
            repeat {
                try? DurableFile.touch("\(dataFolder)/\(Self.lock)")
            } while (try? await Task.sleep(for: Self.renewal)) != nil
        }
    }

    /// Whole days, or shorter units below a day.
    private static func text(_ duration: Duration) -> String {
        let seconds = duration.components.seconds
        let unit: Int64 = seconds >= 2 * 86_400 ? 86_400 : seconds >= 2 * 3600 ? 3600 : 60
        return DurationText.write(.seconds(seconds / unit * unit))
    }
}

extension Timestamp {
    fileprivate init(nanoseconds: Int64) { self.init(milliseconds: nanoseconds / 1_000_000) }
}
