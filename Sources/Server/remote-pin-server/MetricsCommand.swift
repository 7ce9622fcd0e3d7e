internal import ArgumentParser
internal import HostSystem
internal import Telemetry

/// Lists what a server tells of itself.
struct MetricsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "metrics",
        abstract: "List every metric of a server, with its kind and its labels.",
        discussion: """
            A server gives their values at /metrics of the address in `observation.listen`:

              curl http://127.0.0.1:9464/metrics
            """
    )

    @Flag(help: "Print the page of the manual.")
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
