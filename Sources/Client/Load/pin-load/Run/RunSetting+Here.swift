internal import HostSystem
internal import LoadFleet
internal import LoadPlan
internal import LoadReport
internal import LoadEngine
internal import Transport
internal import Vocabulary

extension RunSetting {
    /// A run on this machine, by this process.
    static func here(_ work: RunCommand.Work, _ target: Target, serverPID: Int32?) -> RunSetting {
        let (seed, entries) =
            switch work {
            case .load(let plan): (plan.seed, plan.entries.map { PlanEntry($0.name, $0.value) })
            case .attack(let plan): (plan.seed, plan.entries.map { PlanEntry($0.name, $0.value) })
            }
        return RunSetting(
            command: CommandLine.arguments,
            startMilliseconds: 0,
            seed: seed,
            target: target.address,
            serverBuild: serverPID.flatMap(ServerBuild.of),
            toolBuild: BuildID.text(of: "pin-load"),
            libraries: ["libssl": TLSLibrary.version],
            plan: entries,
            machine: Machine(
                cpuInfo: Self.text("/proc/cpuinfo"),
                memoryInfo: Self.text("/proc/meminfo"),
                kernelRelease: Self.text("/proc/sys/kernel/osrelease")
            )
        )
    }

    /// The same, with the time at which the run began.
    func started(at time: Timestamp) -> RunSetting {
        var setting = self
        setting.startMilliseconds = time.milliseconds
        return setting
    }

    private static func text(_ path: String) -> String {
        (try? DurableFile.read(path, atMost: 1 << 20)).map { String(decoding: $0, as: UTF8.self) } ?? ""
    }
}

extension MeasuredRun {
    func result(_ setting: RunSetting, _ thresholds: [Threshold]) -> RunResult {
        let totals = Totals(of: self.intervals)
        let limits = [Self.shortage(of: setting.machine.cores, in: totals), totals.toolsOwnLimit]
        return RunResult(
            setting: setting,
            intervals: self.intervals,
            thresholds: thresholds,
            end: self.end,
            markers: self.markers,
            sections: self.sections,
            notes: self.notes + limits.compactMap(\.self)
        )
    }

    /// A sentence where tool and server used nearly all of the machine, so that the times are those of their waiting too.
    private static func shortage(of cores: Int, in totals: Totals) -> String? {
        let seconds = totals.duration / .seconds(1)
        guard let tool = totals.toolCPUSeconds, let server = totals.serverCPUSeconds, seconds > 0,
            tool + server > 0.9 * seconds * Double(cores)
        else { return nil }
        let share = Int((tool / (tool + server) * 100).rounded())
        return "tool and server used all of the machine's \(cores) cores, the tool \(share)% of it: "
            + "times include waiting for a processor"
    }
}
