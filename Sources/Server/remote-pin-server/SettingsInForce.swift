internal import ConfigText
internal import Logging
internal import RemotePINServer
internal import ServerSettings
internal import Synchronization
internal import Transport
internal import Vocabulary

/// The settings in effect: those from startup, updated with the live settings from the last successful reload.
///
/// ``SettingDeclaration/isLive`` tells which settings are live.
final class SettingsInForce: Sendable {
    private let started: ServerSettings
    private let again: @Sendable () throws -> LoadedSettings
    /// The settings; locked during a reload, so that an older configuration can never replace a newer one.
    private let newest: Mutex<ServerSettings>
    /// Their load balancers, which every new connection needs, also during a reload.
    private let balancers: Mutex<[AddressRange]>

    init(_ files: ServerFiles) {
        self.started = files.settings
        self.again = files.again
        self.newest = Mutex(files.settings)
        self.balancers = Mutex(files.settings[SettingTable.balancers])
    }

    /// Returns whether the peer with this address is a load balancer.
    func isBalancer(_ address: String) -> Bool {
        self.balancers.withLock(\.self).contains { $0.contains(address) }
    }

    /// Rereads the configuration and applies its changes.
    ///
    /// Threat: a running server puts into effect a file that is half-written or wrong, or that names a program that
    /// every user can change. Therefore, a reload makes the same checks as a start, and any problem keeps all old
    /// values.
    ///
    /// - Parameter apply: Passes the live settings to the parts of the server that use them.
    func reload(
        log: Logger,
        apply: (_ settings: ServerSettings, _ changed: [any SettingDeclaration]) -> Void
    ) -> ReloadedPart {
        self.newest.withLock { newest in
            do {
                let (old, new) = (newest, try Self.checked(try self.again()))
                newest = new
                self.balancers.withLock { $0 = new[SettingTable.balancers] }
                let changed = new.changes(since: old).filter(\.isLive)
                apply(new, changed)
                let note = Self.note(changed, new.changes(since: self.started).filter { !$0.isLive })
                log.notice("configuration reloaded", metadata: note.map { ["changes": "\($0)"] })
                return ReloadedPart("configuration", note: note)
            } catch {
                log.error("the old configuration stays", metadata: ["reason": "\(error)"])
                // Keep the reason on one line, for the table printed by `admin reload`.
                let reason = "\(error)".replacing(":\n", with: ": ").replacing("\n", with: "; ")
                return ReloadedPart("configuration", problem: reason)
            }
        }
    }

    /// Returns the settings if a server could start with them and the files they name.
    private static func checked(_ loaded: LoadedSettings) throws -> ServerSettings {
        let problems = CheckedFiles(loaded).problems.filter { problem in
            switch problem.part {
            // These are reported as separate parts of the reload.
            case .certificate, .vault, .statusList: false
            case .lab, .clock, .rights, .devices, .database, .hook, .witness, .roles: true
            }
        }
        guard problems.isEmpty else {
            throw StartFailure(.configuration, problems.map { "\($0.error)" }.joined(separator: "\n"))
        }
        return loaded.settings
    }

    /// Lists the changed settings without their values, which may be secret.
    private static func note(_ live: [any SettingDeclaration], _ others: [any SettingDeclaration]) -> String? {
        let parts = [("changed", live), ("takes effect at the next start", others)].compactMap { text, settings in
            settings.isEmpty ? nil : "\(text): \(settings.map(\.name).joined(separator: ", "))"
        }
        return parts.isEmpty ? nil : parts.joined(separator: "; ")
    }
}

extension SourceLimits {
    /// Creates the limits from the server's settings.
    init(_ settings: ServerSettings) {
        self.init(
            calls: Allowance(
                settings[SettingTable.framesPerSource],
                each: .seconds(1),
                burst: settings[SettingTable.frameBurstPerSource]
            ),
            enrollments: Allowance(
                settings[SettingTable.enrollmentsPerSource],
                each: .seconds(60),
                burst: settings[SettingTable.enrollmentBurstPerSource]
            )
        )
    }
}

extension ServiceRules {
    /// Creates the service rules from the settings.
    init(_ settings: ServerSettings) {
        self.init(
            attempts: settings.attemptPolicy,
            offersDeletionCode: settings[SettingTable.deletionCode],
            updates: UpdatePolicy(
                android: UpdatePolicy.Versions(
                    minimum: settings[SettingTable.androidMinimumVersion],
                    notify: settings[SettingTable.androidNotifyVersion]
                ),
                iOS: UpdatePolicy.Versions(
                    minimum: settings[SettingTable.iosMinimumVersion],
                    notify: settings[SettingTable.iosNotifyVersion]
                )
            ),
            sessionLifetime: settings[SettingTable.sessionLifetime],
            tokenLifetime: settings[SettingTable.tokenLifetime],
            unopenedLifetime: settings[SettingTable.unopenedLifetime],
            maxInFlight: TransportLimits().maxInFlight,
            sources: SourceLimits(settings)
        )
    }
}
