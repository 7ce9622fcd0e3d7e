package import MetricsEndpoint

extension ObservationSources {
    /// Creates the sources for a running server.
    package init(registry: MetricRegistry, liveness: Liveness, readiness: Readiness) {
        self.init(
            metrics: { Exposition.text(of: registry) },
            failures: { await liveness.failures() },
            readiness: { readiness.state },
            waitingReason: { readiness.reason }
        )
    }
}
