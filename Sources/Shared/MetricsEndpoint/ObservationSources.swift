internal import NIOHTTP1

/// The functions that provide the listener's responses.
package struct ObservationSources: Sendable {
    /// Returns the metrics in exposition format.
    ///
    /// Called on the listener's thread.
    package var metrics: @Sendable () -> String
    /// Returns the names of the parts that are not responding.
    package var failures: @Sendable () async -> [String]
    package var readiness: @Sendable () -> Readiness.State
    /// Returns the reason why the server waits, while it does.
    package var waitingReason: @Sendable () -> String

    package init(
        metrics: @escaping @Sendable () -> String,
        failures: @escaping @Sendable () async -> [String],
        readiness: @escaping @Sendable () -> Readiness.State,
        waitingReason: @escaping @Sendable () -> String = { "" }
    ) {
        self.metrics = metrics
        self.failures = failures
        self.readiness = readiness
        self.waitingReason = waitingReason
    }
}

/// A complete HTTP response.
struct ObservationResponse: Sendable {
    var status: HTTPResponseStatus
    var mediaType = "text/plain; charset=utf-8"
    var text: String
    /// The methods supported by the resource.
    ///
    /// Sent if the request used a different one.
    var allowed: String?

    static let notFound = ObservationResponse(status: .notFound, text: "Not found. Paths: /metrics, /livez, /readyz.\n")
    static let notAllowed = ObservationResponse(
        status: .methodNotAllowed,
        text: "Only GET and HEAD are allowed.\n",
        allowed: "GET, HEAD"
    )
    static let malformed = ObservationResponse(status: .badRequest, text: "Malformed HTTP request.\n")
    static let tooLong = ObservationResponse(status: .requestHeaderFieldsTooLarge, text: "The request is too long.\n")

    static func alive(except failures: [String]) -> ObservationResponse {
        failures.isEmpty
            ? ObservationResponse(status: .ok, text: "ok\n")
            : ObservationResponse(
                status: .serviceUnavailable,
                text: "no answer: \(failures.joined(separator: ", "))\n"
            )
    }

    static func readiness(_ state: Readiness.State, _ reason: String) -> ObservationResponse {
        switch state {
        case .starting: ObservationResponse(status: .serviceUnavailable, text: "starting\n")
        case .ready: ObservationResponse(status: .ok, text: "ok\n")
        case .waiting:
            // One line, since PostgreSQL's messages may have several.
            ObservationResponse(
                status: .serviceUnavailable,
                text: "waiting for the database: \(reason.split(whereSeparator: \.isNewline).joined(separator: " "))\n"
            )
        case .unreachable:
            ObservationResponse(
                status: .serviceUnavailable,
                text: "the file of admin.socket or portal.socket is missing: reload the server with SIGHUP\n"
            )
        case .stopping: ObservationResponse(status: .serviceUnavailable, text: "stopping\n")
        }
    }

    static func metrics(_ text: String) -> ObservationResponse {
        ObservationResponse(status: .ok, mediaType: Exposition.mediaType, text: text)
    }
}
