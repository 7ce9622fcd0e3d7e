internal import ArgumentParser
internal import HostSystem
internal import MetricsEndpoint
internal import Telemetry

/// Lists the server's metrics.
struct MetricsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "metrics",
        abstract: "List every metric of a server, with its kind and its labels.",
        discussion: """
            A server exposes the values at /metrics on the address in `observation.listen`:

              curl http://127.0.0.1:9464/metrics
            """
    )

    @Flag(help: "Print the page of the manual, in Markdown.")
    var markdown = false

    func run() {
        if self.markdown {
            StandardStreams.writeOutput(MetricCatalogue.markdown())
            return
        }
        for definition in MetricCatalogue.all {
            let labels = definition.labels.map(\.name).joined(separator: ", ")
            let name = definition.name + (labels.isEmpty ? "" : "{\(labels)}")
            StandardStreams.writeOutput("\(name)\n    \(definition.help)\n")
        }
    }
}
