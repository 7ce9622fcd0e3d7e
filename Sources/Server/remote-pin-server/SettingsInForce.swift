internal import ConfigText
internal import Foundation
internal import Logging
internal import RemotePINServer
internal import ServerCommandLine
internal import ServerSettings
internal import Synchronization

/// The settings in force: those of the start, with the live ones of the last configuration that a reload accepted.
///
/// The table of settings says which are live (``SettingDeclaration/isLive``).
final class SettingsInForce: Sendable {
    private let started: ServerSettings
    private let again: @Sendable () throws -> LoadedSettings
    private let newest: Mutex<ServerSettings>
    /// Held during a reload, so that an older configuration never replaces a newer one.
    private let reloading = Mutex(())

    init(_ files: ServerFiles) {
        self.started = files.settings
        self.again = files.again
        self.newest = Mutex(files.settings)
    }

    /// Returns whether the peer with this address is a load balancer.
    func isBalancer(_ address: String) -> Bool {
        self.newest.withLock { $0[SettingTable.balancers] }.contains { $0.contains(address) }
    }

    /// Reads the configuration again and applies its changes.
    ///
    /// Threat: a half-written or wrong file, or one that names a program that every user can change, takes effect in a
    /// running server. Therefore the checks are those of a start, and a problem keeps every old value.
    ///
    /// - Parameter apply: Changes the owners of the live settings.
    func reload(
        log: Logger,
        apply: (_ settings: ServerSettings, _ changed: [any SettingDeclaration]) -> Void
    ) -> ReloadedPart {
        self.reloading.withLock { _ in
            do {
                let new = try Self.checked(try self.again())
                let old = self.newest.withLock { newest in
                    defer { newest = new }
                    return newest
                }
                let changed = new.changes(since: old).filter(\.isLive)
                apply(new, changed)
                let note = Self.note(changed, new.changes(since: self.started).filter { !$0.isLive })
                log.notice("configuration reloaded", metadata: note.map { ["changes": "\($0)"] })
                return ReloadedPart("configuration", note: note)
            } catch {
                log.error("the old configuration stays", metadata: ["reason": "\(error)"])
                // On one line, for the table of `admin reload`.
                let reason = "\(error)".replacing(":\n", with: ": ").replacing("\n", with: "; ")
                return ReloadedPart("configuration", problem: reason)
            }
        }
    }

    /// The settings, if a server would start with them and the files that they name.
    private static func checked(_ loaded: LoadedSettings) throws -> ServerSettings {
        let problems = CheckedFiles(loaded).problems.filter { problem in
            switch problem.part {
            // These have their own part in the reload's result.
            case .certificate, .vault, .statusList: false
            case .lab, .rights, .devices, .database, .hook, .witness, .roles: true
            }
        }
        guard problems.isEmpty else {
            throw StartFailure(.configuration, problems.map { "\($0.error)" }.joined(separator: "\n"))
        }
        return loaded.settings
    }

    /// Names the changed settings without their values, which may be secret.
    private static func note(_ live: [any SettingDeclaration], _ others: [any SettingDeclaration]) -> String? {
        let parts = [("changed", live), ("takes effect at the next start", others)].compactMap { text, settings in
            settings.isEmpty ? nil : "\(text): \(settings.map(\.name).joined(separator: ", "))"
        }
        return parts.isEmpty ? nil : parts.joined(separator: "; ")
    }
}

extension SourceLimits {
    /// The limits that an operator's settings describe.
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
