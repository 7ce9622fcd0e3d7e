internal import Foundation
internal import ServerSettings

/// Runs seeds in child processes, some at a time, and shows the progress.
final class Supervisor {
    /// The seeds of one child process.
    private static let batch: UInt64 = 20

    private let options: Options
    private var next: UInt64
    private var line = ProgressLine()
    private let start = ContinuousClock.now
    private var (seeds, walletDays, unlocks) = (0, 0, 0)
    /// The processor time of the seeds that count wallet days, in microseconds.
    private var cpu = 0
    private var faults: [String: Int] = [:]
    /// The traces of the seeds that are run twice, after the first run.
    private var traces: [UInt64: String] = [:]
    private var isSecondRun = false

    init(_ options: Options) {
        self.options = options
        self.next = options.seeds.lowerBound
    }

    /// A child process and what it has printed.
    private final class Child {
        let process = Process()
        private let pipe = Pipe()
        /// The seed in progress.
        var current: UInt64?
        private var rest = ""

        init(_ seeds: ClosedRange<UInt64>, onlyShared: Bool) throws {
            self.process.executableURL = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
            self.process.arguments = ["--batch", "SEEDS=\(seeds.lowerBound)-\(seeds.upperBound)"]
            if onlyShared { self.process.arguments?.append("--shared") }
            self.process.standardOutput = self.pipe
            try self.process.run()
        }

        /// Waits for lines; returns nil at the end.
        func lines() -> [String]? {
            let data = self.pipe.fileHandleForReading.availableData
            guard !data.isEmpty else { return nil }
            let all = (self.rest + String(decoding: data, as: UTF8.self)).split(
                separator: "\n",
                omittingEmptySubsequences: false
            )
            self.rest = String(all.last ?? "")
            return all.dropLast().map(String.init)
        }
    }

    /// Returns the exit status.
    func run() -> Int32 {
        var children: [Child] = []
        while let child = self.nextChild() ?? children.first {
            if !children.contains(where: { $0 === child }) {
                children.append(child)
                if children.count < self.options.jobs { continue }
            }
            let oldest = children[0]
            guard let failure = self.watch(oldest) else {
                children.removeFirst()
                continue
            }
            for child in children { child.process.terminate() }
            self.line.end()
            return self.explain(failure.seed, failure.text)
        }
        self.line.end()
        print("\(self.summary)\n\(self.details)")
        return 0
    }

    private func nextChild() -> Child? {
        guard self.next <= self.options.seeds.upperBound else { return nil }
        let last = min(self.options.seeds.upperBound, self.next + Self.batch - 1)
        defer {
            self.isSecondRun = self.options.runsTwice && !self.isSecondRun
            if !self.isSecondRun { self.next = last + 1 }
        }
        return try? Child(self.next...last, onlyShared: self.options.onlyShared)
    }

    /// Reads a child's results to its end; returns the first failure.
    private func watch(_ child: Child) -> (seed: UInt64, text: String)? {
        while let lines = child.lines() {
            for line in lines {
                let words = line.split(separator: " ", maxSplits: 2).map(String.init)
                guard words.count > 1, let seed = UInt64(words[1]) else { continue }
                child.current = words[0] == "begin" ? seed : nil
                guard words.count == 3,
                    let result = try? JSONDecoder().decode(SeedResult.self, from: Data(words[2].utf8))
                else { continue }
                if let violation = result.violation { return (seed, violation) }
                if self.options.runsTwice, let earlier = self.traces.updateValue(result.trace, forKey: seed) {
                    guard earlier == result.trace else { return (seed, "two runs of this seed differ") }
                    continue
                }
                self.count(result)
                self.line.show("  \(self.summary)")
            }
        }
        child.process.waitUntilExit()
        guard let seed = child.current ?? (child.process.terminationStatus == 0 ? nil : self.next) else { return nil }
        return (seed, "the process ends with status \(child.process.terminationStatus)")
    }

    private func count(_ result: SeedResult) {
        self.seeds += 1
        self.walletDays += result.walletDays
        self.unlocks += result.unlocks
        if result.walletDays > 0 { self.cpu += result.cpu }
        self.faults.merge(result.faults, uniquingKeysWith: +)
    }

    /// The speed, if a seed counted wallet days, and the faults of all seeds.
    private var details: String {
        let kinds = self.faults.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }
        let faults = "\(self.faults.values.reduce(0, +)) faults: \(kinds.joined(separator: ", "))"
        guard self.cpu > 0 else { return faults }
        let speed = Int(Double(self.walletDays) * 60_000_000 / Double(self.cpu))
        return "\(speed) wallet days a minute of processor time\n\(faults)"
    }

    private var summary: String {
        let seconds = (ContinuousClock.now - self.start).components.seconds
        return "\(self.seeds) seeds, \(self.walletDays) wallet days, \(self.unlocks) unlocks, \(seconds) s"
    }

    /// Runs a seed with fewer faults and prints the result.
    private func explain(_ seed: UInt64, _ text: String) -> Int32 {
        print("\(self.summary)\nseed \(seed): \(text)")
        guard self.options.shrinks else { return 1 }
        let process = Process()
        process.executableURL = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
        process.arguments = ["SEED=\(seed)"]
        guard (try? process.run()) != nil else { return 1 }
        process.waitUntilExit()
        // Zero and one are the statuses of a run that ended.
        if process.terminationStatus > 1 { print("  again: make simulate SEED=\(seed) SIMULATE=--trace") }
        return 1
    }
}
