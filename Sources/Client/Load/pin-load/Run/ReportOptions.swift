import ArgumentParser
internal import ConfigText
internal import LoadReport

/// Options for the thresholds of a run and its result files.
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

    @Option(
        help: ArgumentHelp(
            "Serve the figures of the run to Prometheus at http://HOST:PORT/metrics while it goes on; "
                + "port 0 lets the system choose one.",
            valueName: "address"
        )
    )
    var metrics: String?

    @OptionGroup var output: ResultOptions

    @Flag(help: "Print one line per second, also on a terminal.")
    var lines = false
}

extension ReportOptions {
    /// Returns the address given by `--metrics`.
    func metricsAddress() throws(PinLoadFailure) -> HostAndPort? {
        guard let text = self.metrics else { return nil }
        guard let address = HostAndPort(text) else {
            throw PinLoadFailure(.usage, "--metrics: `\(text)` is not HOST:PORT, such as 127.0.0.1:9466")
        }
        return address
    }

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
