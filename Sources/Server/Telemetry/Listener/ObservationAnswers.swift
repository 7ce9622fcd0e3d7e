internal import NIOHTTP1

/// What is told to whoever observes the server.
package struct ObservationAnswers: Sendable {
    /// The exposition; asked on the listener's own thread.
    package var metrics: @Sendable () -> String
    /// The parts that do not answer.
    package var failures: @Sendable () async -> [String]
    package var readiness: @Sendable () -> Readiness.State

    package init(
        metrics: @escaping @Sendable () -> String,
        failures: @escaping @Sendable () async -> [String],
        readiness: @escaping @Sendable () -> Readiness.State
    ) {
        self.metrics = metrics
        self.failures = failures
        self.readiness = readiness
    }

    /// What a server of these parts says.
    package init(registry: MetricRegistry, liveness: Liveness, readiness: Readiness) {
        self.init(
            metrics: { Exposition.text(of: registry) },
            failures: { await liveness.failures() },
            readiness: { readiness.state }
        )
    }
}

/// An answer, whole.
struct ObservationAnswer: Sendable {
    var status: HTTPResponseStatus
    var mediaType = "text/plain; charset=utf-8"
    var text: String
    /// Methods that the resource has, where another one was used.
    var allowed: String?

    static let notFound = ObservationAnswer(status: .notFound, text: "There is /metrics, /livez and /readyz.\n")
    static let notAllowed = ObservationAnswer(
        status: .methodNotAllowed,
        text: "GET and HEAD only.\n",
        allowed: "GET, HEAD"
    )
    static let malformed = ObservationAnswer(status: .badRequest, text: "This is no HTTP request.\n")
    static let tooLong = ObservationAnswer(status: .requestHeaderFieldsTooLarge, text: "The request is too long.\n")

    static func alive(except failures: [String]) -> ObservationAnswer {
        failures.isEmpty
            ? ObservationAnswer(status: .ok, text: "ok\n")
            : ObservationAnswer(
                status: .serviceUnavailable,
                text: "no answer: \(failures.joined(separator: ", "))\n"
            )
    }

    static func readiness(_ state: Readiness.State) -> ObservationAnswer {
        switch state {
        case .starting: ObservationAnswer(status: .serviceUnavailable, text: "starting\n")
        case .ready: ObservationAnswer(status: .ok, text: "ok\n")
        case .stopping: ObservationAnswer(status: .serviceUnavailable, text: "stopping\n")
        }
    }

    static func metrics(_ text: String) -> ObservationAnswer {
        ObservationAnswer(status: .ok, mediaType: Exposition.mediaType, text: text)
    }
}
