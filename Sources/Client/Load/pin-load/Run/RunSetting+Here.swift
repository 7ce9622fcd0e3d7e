internal import HostSystem
internal import LoadEngine
internal import LoadFleet
internal import LoadPlan
internal import LoadReport
internal import Transport
internal import Vocabulary

extension RunSetting {
    /// Creates the settings of a run that this process started at `start`.
    static func here(
        _ work: LoadRunCommand.Work,
        _ target: Target,
        serverBuild: String?,
        start: Timestamp
    ) -> RunSetting {
        let (seed, entries) =
            switch work {
            case .load(let plan): (plan.seed, plan.entries.map { PlanEntry($0.name, $0.value) })
            case .attack(let plan): (plan.seed, plan.entries.map { PlanEntry($0.name, $0.value) })
            }
        func text(_ path: String) -> String { (try? DurableFile.readText(path, atMost: 1 << 20)) ?? "" }
        return RunSetting(
            command: CommandLine.arguments,
            startMilliseconds: start.milliseconds,
            seed: seed,
            target: target.address,
            serverBuild: serverBuild,
            toolBuild: BuildID.text(of: "pin-load"),
            libraries: ["libssl": TLSLibrary.version],
            plan: entries,
            machine: Machine(
                cpuInfo: text("/proc/cpuinfo"),
                memoryInfo: text("/proc/meminfo"),
                kernelRelease: text("/proc/sys/kernel/osrelease")
            )
        )
    }
}

extension MeasuredRun {
    func result(_ setting: RunSetting, _ thresholds: [Threshold]) -> RunResult {
        let totals = Totals(of: self.intervals)
        let limits = [Self.shortage(of: setting.machine.cores, in: totals), totals.toolLimitNote]
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

    /// Returns a note if pin-load and the server together nearly saturated the machine's CPUs.
    private static func shortage(of cores: Int, in totals: Totals) -> String? {
        guard let tool = totals.toolCores, let server = totals.serverCores, tool + server > 0.9 * Double(cores) else {
            return nil
        }
        let share = Int((tool / (tool + server) * 100).rounded())
        return "pin-load (\(share)%) and the server used nearly all of the machine's \(cores) cores: times include "
            + "waiting for a processor"
    }
}
