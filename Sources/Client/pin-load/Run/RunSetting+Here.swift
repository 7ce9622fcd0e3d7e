internal import HostSystem
internal import LoadFleet
internal import LoadPlan
internal import LoadReport
internal import LoadRun
internal import Transport
internal import Vocabulary

/// What the tool says of itself.
enum ToolVersion {
    /// Raised with each release.
    static let number = "0.1.0"
    static let text = "pin-load \(Self.number) (protocol remote-pin/1)"
}

extension RunSetting {
    /// A run on this machine, by this process.
    static func here(_ plan: LoadPlan, _ target: Target, started: Timestamp, serverPID: Int32?) -> RunSetting {
        RunSetting(
            command: CommandLine.arguments,
            startMilliseconds: started.milliseconds,
            seed: plan.seed,
            target: target.address,
            serverBuild: serverPID.flatMap(ServerBuild.of),
            toolBuild: ToolVersion.text,
            libraries: ["libssl": TLSLibrary.version],
            plan: plan.entries.map { PlanEntry($0.name, $0.value) },
            machine: Machine(
                cpuInfo: Self.text("/proc/cpuinfo"),
                memoryInfo: Self.text("/proc/meminfo"),
                kernelRelease: Self.text("/proc/sys/kernel/osrelease")
            )
        )
    }

    private static func text(_ path: String) -> String {
        (try? DurableFile.read(path, atMost: 1 << 20)).map { String(decoding: $0, as: UTF8.self) } ?? ""
    }
}

extension MeasuredRun {
    func result(_ setting: RunSetting, _ thresholds: [Threshold]) -> RunResult {
        RunResult(
            setting: setting,
            intervals: self.intervals,
            thresholds: thresholds,
            end: self.end,
            markers: self.markers,
            sections: self.sections,
            notes: self.notes
        )
    }
}
