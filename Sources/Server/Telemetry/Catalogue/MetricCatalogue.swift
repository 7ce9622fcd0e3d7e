internal import AttestationVerifier

/// Every metric that the server exposes, in the order in which they are told.
///
/// Whoever adds one adds it here, in a list of its part; a test finds names that stand in the sources and not here, and
/// docs/metrics.md is compared with it.
package enum MetricCatalogue {
    /// All of them.
    package static let all: [MetricDefinition] =
        Self.wallets + Self.connections + Self.store + Self.keys + Self.operators + Self.process + Self.own

    /// What wallets ask and are told.
    static let wallets = [
        MetricDefinition(
            "remote_pin_calls_total",
            .counter,
            "Calls of wallets by kind and by what became of them.",
            labels: [
                MetricDefinition.Label(
                    "call",
                    .listed([
                        "hello", "begin_enrollment", "register", "open_session", "instruct", "revoke_with_code",
                        "report_wipe", "unknown",
                    ])
                ),
                MetricDefinition.Label(
                    "outcome",
                    .listed([
                        "done", "malformed", "unsupported", "session_required", "authentication_failed",
                        "out_of_order", "challenge_invalid", "attestation_rejected", "not_allowed", "revoked",
                        "pin_key_changed", "rate_limited", "unavailable", "internal",
                    ])
                ),
            ]
        ),
        MetricDefinition(
            "remote_pin_pin_verdicts_total",
            .counter,
            "Verdicts on entered PINs; blocked ones were not looked at.",
            labels: [
                MetricDefinition.Label("verdict", .listed(["valid", "wrong", "blocked", "blocked_permanently"]))
            ]
        ),
        MetricDefinition(
            "remote_pin_blocks_total",
            .counter,
            "Wallets that entered a block, by its kind.",
            labels: [MetricDefinition.Label("kind", .listed(["temporary", "permanent"]))]
        ),
        MetricDefinition(
            "remote_pin_attestation_refusals_total",
            .counter,
            "Registrations refused for their evidence, by the check that failed.",
            labels: [MetricDefinition.Label("reason", .listed(AttestationRefusal.allCases.map(\.rawValue)))]
        ),
        MetricDefinition(
            "remote_pin_revocations_total",
            .counter,
            "Wallets that were revoked, by whose word; a revocation of the whole solution counts once for all.",
            labels: [MetricDefinition.Label("kind", .listed(["user", "wallet", "recovery_code", "solution"]))]
        ),
    ]

    /// What lies between the network and the calls.
    static let connections = [
        MetricDefinition("remote_pin_connections", .gauge, "Open connections of wallets whose handshake is done."),
        MetricDefinition("remote_pin_sessions", .gauge, "Open sessions of wallets."),
        MetricDefinition("remote_pin_handshakes_total", .counter, "TLS handshakes that were completed."),
        MetricDefinition(
            "remote_pin_handshake_failures_total",
            .counter,
            "Connections that did not open or that TLS ended later, by reason.",
            labels: [
                MetricDefinition.Label(
                    "reason",
                    .listed([
                        "untrusted", "wrong_name", "no_common_protocol", "refused_by_peer", "ended_early", "timed_out",
                        "broken", "proxy_header", "displaced",
                    ])
                )
            ]
        ),
        MetricDefinition(
            "remote_pin_handshakes_in_progress",
            .gauge,
            "Connections that have not finished their handshake."
        ),
        MetricDefinition(
            "remote_pin_connections_refused_total",
            .counter,
            "Connections that were closed for want of room, by the limit that was reached: as soon as they were accepted, or "
                + "in the middle of a long message.",
            labels: [
                MetricDefinition.Label("limit", .listed(["connections", "connections_per_source", "long_frames"]))
            ]
        ),
        MetricDefinition(
            "remote_pin_calls_limited_total",
            .counter,
            "Calls that had to wait because their source asked too much, by the limit that was reached.",
            labels: [
                MetricDefinition.Label("limit", .listed(["calls", "session_calls", "enrollments", "codes"]))
            ]
        ),
        MetricDefinition("remote_pin_sources", .gauge, "Sources of connections that are known."),
        MetricDefinition(
            "remote_pin_limit",
            .gauge,
            "What the settings limits.connections and limits.handshakes say.",
            labels: [MetricDefinition.Label("limit", .listed(["connections", "handshakes"]))]
        ),
    ]

    /// From a tenth of a millisecond, which a sync takes on a good disk, to where callers have gone.
    private static let seconds = [
        0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5,
    ]

    /// The way of a step through the store.
    static let store = [
        MetricDefinition("remote_pin_store_queue_steps", .gauge, "Steps that wait for the store's next commit."),
        MetricDefinition(
            "remote_pin_store_queue_wait_seconds",
            .histogram(bounds: Self.seconds),
            "How long the first step of each batch waited for the batch to begin."
        ),
        MetricDefinition(
            "remote_pin_store_commit_seconds",
            .histogram(bounds: Self.seconds),
            "From the first step of each batch until its commit was synced."
        ),
        MetricDefinition(
            "remote_pin_store_batch_steps",
            .histogram(bounds: [1, 2, 4, 8, 16, 32, 64, 128, 256]),
            "Steps that shared one commit."
        ),
        MetricDefinition(
            "remote_pin_store_failed_batches_total",
            .counter,
            "Batches of which nothing was written, since the disk was full or the database in use."
        ),
    ]

    /// Keys, certificates, lists and the record.
    static let keys = [
        MetricDefinition(
            "remote_pin_vault_operations_total",
            .counter,
            "What the vault was asked for, and whether it did it.",
            labels: [
                MetricDefinition.Label("operation", .listed(["seal", "unseal", "mac", "verify"])),
                MetricDefinition.Label("outcome", .listed(["done", "not_ours", "unreachable"])),
            ]
        ),
        MetricDefinition(
            "remote_pin_certificate_expiry_timestamp_seconds",
            .gauge,
            "When the TLS certificate in use ends, as Unix time."
        ),
        MetricDefinition(
            "remote_pin_status_list_fetched_timestamp_seconds",
            .gauge,
            "When the Android status list in use was fetched, as Unix time; absent without one."
        ),
        MetricDefinition(
            "remote_pin_status_list_expiry_timestamp_seconds",
            .gauge,
            "When the Android status list in use becomes stale, as Unix time; absent where its age does not matter."
        ),
        MetricDefinition("remote_pin_audit_entries_total", .counter, "Entries in the audit log, from its beginning."),
    ]

    /// What the server does for its operators.
    static let operators = [
        MetricDefinition(
            "remote_pin_hook_events_total",
            .counter,
            "Events for a hook, by whether it got them.",
            labels: [
                MetricDefinition.Label("hook", .listed(["program", "socket"])),
                MetricDefinition.Label("outcome", .listed(["delivered", "dropped"])),
            ]
        ),
        MetricDefinition(
            "remote_pin_reloads_total",
            .counter,
            "Reloads, by whether all was read; refused where an old part stays.",
            labels: [MetricDefinition.Label("outcome", .listed(["done", "refused"]))]
        ),
        MetricDefinition(
            "remote_pin_reload_timestamp_seconds",
            .gauge,
            "When the last reload of this outcome was, as Unix time; the start counts as done.",
            labels: [MetricDefinition.Label("outcome", .listed(["done", "refused"]))]
        ),
    ]

    /// The names that every client library of Prometheus uses.
    static let process = [
        MetricDefinition("process_cpu_seconds_total", .counter, "User and system time of the process."),
        MetricDefinition("process_resident_memory_bytes", .gauge, "Memory of the process in RAM."),
        MetricDefinition("process_virtual_memory_bytes", .gauge, "Address space of the process."),
        MetricDefinition("process_open_fds", .gauge, "Open file descriptors."),
        MetricDefinition("process_max_fds", .gauge, "The most file descriptors that may be open."),
        MetricDefinition("process_threads", .gauge, "Threads of the process."),
        MetricDefinition("process_start_time_seconds", .gauge, "When the process was started, as Unix time."),
    ]

    /// The server as a whole, and what is wrong with this output.
    static let own = [
        MetricDefinition(
            "remote_pin_build_info",
            .gauge,
            "Always 1; the label says which version runs.",
            labels: [MetricDefinition.Label("version", .constant)]
        ),
        MetricDefinition("remote_pin_ready", .gauge, "1 while /readyz says that wallets may be sent here, else 0."),
        MetricDefinition(
            "remote_pin_metrics_refused_total",
            .counter,
            "Series that were not exposed, since they are not as the catalogue says; a fault of the program.",
            labels: [MetricDefinition.Label("reason", .listed(MetricFault.allCases.map(\.rawValue)))]
        ),
    ]

    /// The catalogue as a page of the manual.
    package static func markdown() -> String {
        var lines = [
            "# Metrics of remote-pin-server",
            "",
            "Made by `remote-pin-server metrics --markdown`; a test compares the two. They are at `/metrics` of the address in",
            "`observation.listen`. What they are good for, and what each alert means, is in [observation.md](observation.md).",
            "",
            "| metric | kind | labels | what it says |", "| --- | --- | --- | --- |",
        ]
        for definition in Self.all {
            let labels = definition.labels.map { label in
                switch label.values {
                case .listed(let values): "`\(label.name)`: \(values.joined(separator: ", "))"
                case .constant: "`\(label.name)`"
                }
            }
            let cells = [
                "`\(definition.name)`", definition.kind.name, labels.joined(separator: "; "), definition.help,
            ]
            lines.append("| " + cells.joined(separator: " | ") + " |")
        }
        return lines.joined(separator: "\n") + "\n"
    }
}

/// Why a series is not exposed.
package enum MetricFault: String, Hashable, Sendable, CaseIterable {
    /// Add the metric to the catalogue.
    case unknown
    /// Ask for the kind that the catalogue names.
    case kind
    /// Labels or their values are not those of the catalogue.
    case labels
    /// There are more series than ``MetricRegistry/mostSeries``.
    case limit
}
