import ArgumentParser
internal import HostSystem
internal import LoadReport

/// The thresholds of a run and the files of its result.
struct ReportOptions: ParsableArguments {
    @Option(
        name: .customLong("threshold"),
        help: ArgumentHelp(
            "Condition on the result; if not met, the exit code is 99. Repeatable: p99<20ms, errors<0.1%, "
                + "unexpected==0, rate>5000, unlock.p99.9<50ms, service.p99<5ms, unsent==0.",
            valueName: "condition"
        )
    )
    var thresholds: [String] = []

    @Flag(help: "End the run as soon as a threshold can no longer be met, or is not met for five seconds.")
    var abortOnFail = false

    @Option(
        help: ArgumentHelp(
            "Server process, to measure CPU and memory. (default: on this machine the one listening on the port)",
            valueName: "pid"
        )
    )
    var serverPID: Int32?

    @OptionGroup var output: OutputOptions

    @Flag(help: "Print one line per second, also on a terminal.")
    var lines = false
}

extension ReportOptions {
    func readThresholds() throws(PinLoadFailure) -> [Threshold] {
        var (thresholds, problems): ([Threshold], [String]) = ([], [])
        for text in self.thresholds {
            do throws(ThresholdError) {
                thresholds.append(try Threshold(parsing: text))
            } catch {
                problems.append("--threshold \(text): \(error)")
            }
        }
        guard problems.isEmpty else { throw PinLoadFailure(.usage, problems.joined(separator: "\npin-load: ")) }
        return thresholds
    }
}
