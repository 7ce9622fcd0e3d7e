internal import Foundation
internal import Glibc
internal import HostSystem
internal import Lab

/// Runs seeds in this process.
struct SeedRunner {
    private let folder: String
    private let authority: LabAuthority

    init() throws {
        SimulatedDisk.install()
        // In memory: the mark, the audit log and the phones' files are real, and no result depends on a disk.
        let parent = DurableFile.isFolder("/dev/shm") ? "/dev/shm" : "/tmp"
        self.folder = "\(parent)/remote-pin-simulate-\(UInt64.random(in: .min ... .max))"
        try DurableFile.makeFolder(self.folder)
        self.authority = try LabAuthority.create(in: "\(self.folder)/authority")
    }

    func clear() { try? FileManager.default.removeItem(atPath: self.folder) }

    private func run(_ plan: Plan) -> Simulation.Report {
        Simulation.run(plan, folder: "\(self.folder)/run", authority: (self.authority, "\(self.folder)/authority"))
    }

    /// Runs seeds one after the other and prints a line about each, for the supervisor.
    func batch(_ seeds: some Sequence<UInt64>) {
        for seed in seeds {
            Self.say("begin \(seed)")
            let (plan, start) = (Plan(seed: seed), clock())
            let report = self.run(plan)
            let result = SeedResult(
                walletDays: plan.walletDays,
                unlocks: report.unlocks,
                cpu: clock() - start,
                trace: Self.hex(report.hash),
                faults: report.faults,
                violation: report.violation
            )
            Self.say("end \(seed) \(result.text)")
        }
    }

    /// Runs one seed, and again with fewer faults if it violates a rule; returns the exit status.
    func one(_ seed: UInt64, only: Set<Int>?, printsTrace: Bool) -> Int32 {
        defer { self.clear() }
        let plan = Plan(seed: seed)
        var kept = Array(plan.faults.indices).filter { only?.contains($0) ?? true }
        func report() -> Simulation.Report {
            var fewer = plan
            fewer.faults = kept.map { plan.faults[$0] }
            return self.run(fewer)
        }
        var found = report()
        if let rule = found.violation.map(Self.rule) {
            for fault in kept.reversed() {
                let before = kept
                kept.removeAll { $0 == fault }
                let fewer = report()
                if fewer.violation.map(Self.rule) == rule { found = fewer } else { kept = before }
            }
        }
        if printsTrace { Self.say(found.lines.joined(separator: "\n")) }
        Self.say(
            "seed \(seed): \(plan.walletDays) wallet days, \(found.unlocks) unlocks, trace \(Self.hex(found.hash))"
        )
        for index in kept { Self.say("  fault \(index): \(plan.faults[index])") }
        guard let violation = found.violation else {
            Self.say("  no rule is violated")
            return 0
        }
        Self.say("  violated: \(violation)")
        let faults = kept.map(String.init).joined(separator: ",")
        Self.say("  again: make simulate SEED=\(seed) SIMULATE=\"FAULTS=\(faults) --trace\"")
        return 1
    }

    /// The text of a violation without its numbers, so that another rule is not taken for the same one.
    private static func rule(of violation: String) -> String { violation.filter { !$0.isNumber } }

    static func hex(_ number: UInt64) -> String { String(number, radix: 16) }

    private static func say(_ text: String) { FileHandle.standardOutput.write(Data((text + "\n").utf8)) }
}
