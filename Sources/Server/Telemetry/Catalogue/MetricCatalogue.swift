package import MetricsEndpoint

/// Every metric that the server exposes, in output order.
///
/// One test finds metric names that are used in the sources but missing here. Another one compares docs/metrics.md with
/// the catalog.
package enum MetricCatalogue {
    /// The verifier's refusals; a list of their own, so that a program without the verifier has the catalog.
    static let attestationRefusals = [
        "too_many_certificates", "evidence_too_large", "app_not_configured", "malformed_certificate",
        "incomplete_chain", "issuer_mismatch", "bad_signature", "untrusted_root", "certificate_expired",
        "certificate_not_yet_valid", "issuer_not_ca", "key_type_not_allowed", "public_key_mismatch", "revoked",
        "suspended", "status_list_stale", "provisioning_not_allowed", "missing_attestation_extension",
        "duplicate_attestation_extension", "unexpected_attestation_extension", "malformed_key_description",
        "challenge_mismatch", "security_level_too_low", "root_of_trust_missing", "device_unlocked",
        "verified_boot_state", "verified_boot_key", "key_origin", "key_purpose", "key_digest", "all_applications",
        "patch_level_too_old", "vendor_patch_level_too_old", "boot_patch_level_too_old", "package_mismatch",
        "signature_digest_mismatch", "app_version_too_old", "malformed_cbor", "unsupported_format",
        "nonce_mismatch", "key_id_mismatch", "malformed_auth_data", "rp_id_mismatch", "counter_not_zero",
        "environment_mismatch", "credential_id_mismatch", "validation_category", "counter_not_increased",
    ]

    /// All metrics.
    package static let all: [MetricDefinition] =
        Self.wallets + Self.connections + Self.store + Self.leases + Self.keys + Self.operators + Self.portal
        + Self.daemon + MetricDefinition.process + Self.own

    /// Wallet calls and their results.
    static let wallets = [
        MetricDefinition(
            "remote_pin_calls_total",
            .counter,
            "Calls from wallets, by kind and outcome.",
            labels: [
                "call": [
                    "hello", "begin_enrollment", "register", "open_session", "instruct", "revoke_with_code",
                    "report_wipe", "confirm_shares", "unknown",
                ],
                "outcome": [
                    "done", "malformed", "unsupported", "session_required", "authentication_failed", "out_of_order",
                    "challenge_invalid", "attestation_rejected", "not_allowed", "revoked", "pin_key_changed",
                    "rate_limited", "unavailable", "internal",
                ],
            ]
        ),
        MetricDefinition(
            "remote_pin_pin_verdicts_total",
            .counter,
            "Verdicts on entered PINs; PINs entered during a block are not checked.",
            labels: ["verdict": ["valid", "wrong", "blocked", "blocked_permanently"]]
        ),
        MetricDefinition(
            "remote_pin_blocks_total",
            .counter,
            "Blocks started, by kind.",
            labels: ["kind": ["temporary", "permanent"]]
        ),
        MetricDefinition(
            "remote_pin_attestation_refusals_total",
            .counter,
            "Registrations rejected because of their evidence, by failed check.",
            labels: ["reason": Self.attestationRefusals]
        ),
        MetricDefinition(
            "remote_pin_revocations_total",
            .counter,
            "Revoked wallets, by authority; a revocation of the whole solution counts once.",
            labels: ["kind": ["user", "wallet", "recovery_code", "solution"]]
        ),
    ]

    /// Connections, handshakes and limits.
    static let connections = [
        MetricDefinition("remote_pin_connections", .gauge, "Open wallet connections with a completed handshake."),
        MetricDefinition("remote_pin_sessions", .gauge, "Open wallet sessions."),
        MetricDefinition("remote_pin_handshakes_total", .counter, "Completed TLS handshakes."),
        MetricDefinition(
            "remote_pin_handshake_failures_total",
            .counter,
            "Connections that failed to open or that TLS ended later, by reason.",
            labels: [
                "reason": [
                    "untrusted", "wrong_name", "no_common_protocol", "refused_by_peer", "ended_early", "timed_out",
                    "broken", "proxy_header", "displaced",
                ]
            ]
        ),
        MetricDefinition(
            "remote_pin_handshakes_in_progress",
            .gauge,
            "Connections whose handshake is in progress."
        ),
        MetricDefinition(
            "remote_pin_connections_refused_total",
            .counter,
            "Connections closed because of a capacity limit, on accept, before a session or within a long message, "
                + "by limit.",
            labels: ["limit": ["connections", "without_session", "connections_per_source", "long_frames"]]
        ),
        MetricDefinition(
            "remote_pin_calls_limited_total",
            .counter,
            "Calls rejected by a rate limit, by limit.",
            labels: ["limit": ["calls", "session_calls", "enrollments", "codes"]]
        ),
        MetricDefinition("remote_pin_sources", .gauge, "Tracked sources of connections."),
        MetricDefinition(
            "remote_pin_source_peak",
            .gauge,
            "Largest use of a limit by one source within the last minute: the used part of its burst, or connections.",
            labels: ["limit": ["calls", "session_calls", "enrollments", "codes", "connections_per_source"]]
        ),
        MetricDefinition(
            "remote_pin_limit",
            .gauge,
            "Values of the settings limits.connections and limits.handshakes.",
            labels: ["limit": ["connections", "handshakes"]]
        ),
    ]

    /// The bucket bounds in seconds, from 0.1 ms, the time of a sync on a fast disk, to 5 s, when callers have given
    /// up.
    private static let seconds = [
        0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5,
    ]

    /// The store's queue and commits.
    static let store = [
        MetricDefinition("remote_pin_store_queue_steps", .gauge, "Steps waiting for the store's next commit."),
        MetricDefinition(
            "remote_pin_store_queue_wait_seconds",
            .histogram(bounds: Self.seconds),
            "Time that the first step of each batch waited for the batch to begin."
        ),
        MetricDefinition(
            "remote_pin_store_commit_seconds",
            .histogram(bounds: Self.seconds),
            "Time from the first step of each batch to its synced commit."
        ),
        MetricDefinition(
            "remote_pin_store_batch_steps",
            .histogram(bounds: [1, 2, 4, 8, 16, 32, 64, 128, 256]),
            "Steps per commit."
        ),
        MetricDefinition(
            "remote_pin_store_transaction_seconds",
            .histogram(bounds: Self.seconds),
            "Time of a change of the PIN, a registration, a revocation or a query in PostgreSQL, with its commit."
        ),
        MetricDefinition(
            "remote_pin_store_comparison_misses_total",
            .counter,
            "Steps decided again because another server had changed or locked the wallet's row in PostgreSQL."
        ),
        MetricDefinition(
            "remote_pin_store_standbys",
            .gauge,
            "Standbys that each commit in PostgreSQL waits for; 0 if it waits for none."
        ),
        MetricDefinition(
            "remote_pin_store_local_durability",
            .gauge,
            "1 with `cluster.durability: local`, so that the loss of one machine loses commits, otherwise 0; absent "
                + "with an embedded store."
        ),
        MetricDefinition(
            "remote_pin_store_refusals_total",
            .counter,
            "Failed connections and statements, and reasons not to use the database, by reason.",
            labels: [
                "reason": [
                    "unreachable", "rejected", "outcome_unknown", "lost_commits", "unsafe_settings", "policy",
                    "other_store", "epoch_ended", "name_in_use", "other",
                ]
            ]
        ),
        MetricDefinition(
            "remote_pin_store_failed_batches_total",
            .counter,
            "Batches not written, for example because of a full disk, or a database that is in use, damaged or away."
        ),
        MetricDefinition(
            "remote_pin_store_damage",
            .gauge,
            "Damaged attempt records at the last check; 0 before the first check."
        ),
    ]

    /// The leases of several servers on one store.
    static let leases = [
        MetricDefinition(
            "remote_pin_lease_age_seconds",
            .gauge,
            "Time since this server's lease was renewed last; absent with an embedded store."
        ),
        MetricDefinition(
            "remote_pin_lease_held",
            .gauge,
            "1 while this server's lease allows it to release shares, otherwise 0; absent with an embedded store."
        ),
        MetricDefinition(
            "remote_pin_database_clock_difference_seconds",
            .gauge,
            "The database's clock minus the time that this server expected, at the last renewal; absent with an "
                + "embedded store."
        ),
        MetricDefinition(
            "remote_pin_servers_live",
            .gauge,
            "Servers of the store with a lease, this one included; absent with an embedded store."
        ),
        MetricDefinition(
            "remote_pin_revocation_acknowledgement_seconds",
            .histogram(bounds: Self.seconds + [10]),
            "Time that a revocation waited for the acknowledgments of all servers, after its commit."
        ),
    ]

    /// Keys, the certificate, the status list and the audit log.
    static let keys = [
        MetricDefinition(
            "remote_pin_vault_operations_total",
            .counter,
            "Vault operations, by kind and outcome.",
            labels: ["operation": ["derive", "open"], "outcome": ["done", "not_ours", "unreachable"]]
        ),
        MetricDefinition(
            "remote_pin_vault_derive_seconds",
            .histogram(bounds: Self.seconds),
            "Time to derive the keys of a wallet, with the wait for the module."
        ),
        MetricDefinition(
            "remote_pin_vault_reachable",
            .gauge,
            "Whether the module with the vault's keys can be used; absent without `vault.socket`."
        ),
        MetricDefinition(
            "remote_pin_certificate_expiry_timestamp_seconds",
            .gauge,
            "Expiry of the TLS certificate in use, as Unix time."
        ),
        MetricDefinition(
            "remote_pin_status_list_fetched_timestamp_seconds",
            .gauge,
            "Fetch time of the Android status list in use, as Unix time; absent without a list."
        ),
        MetricDefinition(
            "remote_pin_status_list_expiry_timestamp_seconds",
            .gauge,
            "Time when the Android status list in use becomes stale, as Unix time; absent if its age is not checked."
        ),
        MetricDefinition(
            "remote_pin_backup_timestamp_seconds",
            .gauge,
            "Time of the last backup on record, as Unix time; absent before the first."
        ),
        MetricDefinition(
            "remote_pin_audit_verified_timestamp_seconds",
            .gauge,
            "Last time when `admin audit verify --record` found the audit log intact, as Unix time; absent before the "
                + "first."
        ),
        MetricDefinition("remote_pin_audit_entries_total", .counter, "Entries in the audit log since its creation."),
        MetricDefinition(
            "remote_pin_audit_exports_total",
            .counter,
            "Audit entries for the log service, by outcome; failed if it did not take the entry.",
            labels: ["outcome": ["sent", "failed"]]
        ),
        MetricDefinition(
            "remote_pin_store_generation",
            .gauge,
            "Generation of the store; rises with every commit that changes the store. It falls if an older store "
                + "replaces it."
        ),
        MetricDefinition(
            "remote_pin_witness_requests_total",
            .counter,
            "Requests to the witness, by outcome; ahead if it knows a later state of the store.",
            labels: ["outcome": ["noted", "silent", "ahead"]]
        ),
    ]

    /// Event hooks and reloads.
    static let operators = [
        MetricDefinition(
            "remote_pin_hook_events_total",
            .counter,
            "Events for hooks, by receiver kind and outcome. Delivered: written to the pipe or socket, read or not.",
            labels: ["hook": ["program", "socket"], "outcome": ["delivered", "dropped"]]
        ),
        MetricDefinition(
            "remote_pin_reloads_total",
            .counter,
            "Reloads, by outcome; refused if a part could not be replaced.",
            labels: ["outcome": ["done", "refused"]]
        ),
        MetricDefinition(
            "remote_pin_reload_timestamp_seconds",
            .gauge,
            "Time of the last reload with this outcome, as Unix time; the start counts as done.",
            labels: ["outcome": ["done", "refused"]]
        ),
    ]

    /// The metrics of the deletion portal, which are exposed by the portal itself.
    static let portal = [
        MetricDefinition(
            "remote_pin_portal_ready",
            .gauge,
            "Of the deletion portal: 1 while a server accepts its connections, otherwise 0."
        ),
        MetricDefinition(
            "remote_pin_portal_codes_total",
            .counter,
            "Of the deletion portal: entered deletion codes, by outcome.",
            labels: ["outcome": ["deleted", "wrong", "limited", "away", "unknown"]]
        ),
    ]

    /// The metrics of `remote-pin-keys`, which are exposed by that daemon itself, since the server may be the attacker.
    static let daemon = [
        MetricDefinition(
            "remote_pin_keys_total",
            .counter,
            "Of `remote-pin-keys`: requests for a code, by outcome.",
            labels: ["outcome": ["ok", "unknown", "busy", "failed"]]
        ),
        MetricDefinition("remote_pin_keys_limit", .gauge, "Of `remote-pin-keys`: the codes per second of its limit."),
    ]

    /// The server as a whole, and faults in the metrics output.
    static let own = [
        MetricDefinition(
            "remote_pin_build_info",
            .gauge,
            "Always 1; the label holds the running version.",
            labels: [MetricDefinition.Label("version", .constant)]
        ),
        MetricDefinition("remote_pin_ready", .gauge, "1 while /readyz reports ready, otherwise 0."),
        MetricDefinition(
            "remote_pin_log_lines_dropped_total",
            .counter,
            "Log lines of the server or the portal that were lost because nothing read them or the disk was full."
        ),
        MetricDefinition.faults,
    ]

    /// Returns the catalog as a documentation page.
    package static func markdown() -> String {
        var lines = [
            "# Metrics of remote-pin-server",
            "",
            "Generated by `remote-pin-server metrics --markdown`; a test compares the two. The server serves",
            "the metrics at `/metrics` on the address in `observation.listen`, the deletion portal its own on",
            "that in `portal.observation`, and `remote-pin-keys` its own on that of its option `--observation`.",
            "[observation.md](observation.md) explains the alerts.",
            "",
            "| metric | kind | labels | meaning |", "| --- | --- | --- | --- |",
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

extension MetricRegistry {
    /// Creates the registry of a server or portal, with the whole catalog.
    ///
    /// - Parameter onFault: Called with the metric name and the fault, for the log. A fault is a bug in the program.
    package convenience init(onFault: @escaping @Sendable (String, MetricFault) -> Void = { _, _ in }) {
        self.init(MetricCatalogue.all, onFault: onFault)
    }
}
