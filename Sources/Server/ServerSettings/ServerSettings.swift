package import ConfigText
package import Vocabulary

/// The values of all settings, each with its origin.
///
/// Environment variables override the file, and flags override environment variables. Every value is within its range,
/// and no two values contradict each other.
package struct ServerSettings: Sendable {
    private var values: SettingValues

    /// Merges the sources.
    ///
    /// - Parameter sections: The sections that the caller needs, or nil for all. The others may be incomplete, so the
    ///   caller must not access their settings.
    /// - Throws: All problems at once: unknown names, values outside their range, missing settings, and settings that
    ///   contradict each other.
    package init(
        file: ConfigFile?,
        environment: [String: String] = [:],
        flags: [(name: String, value: String)] = [],
        currentFolder: String,
        sections: Set<String>? = nil
    ) throws(ConfigError) {
        self.init(
            SettingsSources(file: file, environment: environment, flags: flags, currentFolder: currentFolder),
            sections: sections
        )
        guard self.problems.isEmpty else { throw ConfigError(problems: self.problems) }
    }

    /// Merges the sources as far as possible.
    ///
    /// Settings named in a problem must not be accessed.
    init(_ sources: SettingsSources, sections: Set<String>? = nil) {
        func needs(_ setting: any SettingDeclaration) -> Bool { sections?.contains(setting.section) ?? true }
        self.values = SettingValues(sources, SettingTable.catalog, needs: needs)
        self.rejectContradictions { $0.allSatisfy(needs) }
    }

    package var problems: [ConfigProblem] { self.values.problems }

    /// The value of a setting.
    package subscript<Value>(_ setting: Setting<Value>) -> Value { self.values[setting] }

    /// Returns the source of a setting value.
    package func origin(of name: String) -> SettingOrigin { self.values.origin(of: name) }

    /// Returns the settings whose values differ from an older configuration.
    package func changes(since old: ServerSettings) -> [any SettingDeclaration] {
        self.values.changes(since: old.values)
    }

    /// All settings for listings, in table order.
    package var rows: [SettingRow] { self.values.rows }

    /// The attempt policy, from the `pin` settings.
    package var attemptPolicy: AttemptPolicy {
        let policy = AttemptPolicy(
            rounds: self[SettingTable.rounds],
            attemptsPerRound: self[SettingTable.attemptsPerRound],
            blocks: self[SettingTable.blocks]
        )
        guard let policy else { preconditionFailure("settings outside the policy's ranges are rejected when read") }
        return policy
    }

    /// Checks the rules that involve several settings.
    ///
    /// Rules for sections that are not needed are skipped.
    private mutating func rejectContradictions(areNeeded: ([any SettingDeclaration]) -> Bool) {
        let values = self.values
        func reject(_ settings: [any SettingDeclaration], if isContradiction: Bool, _ message: String) {
            if areNeeded(settings) { self.values.reject(settings, if: isContradiction, message) }
        }
        func rejectLongPath(_ setting: any SettingDeclaration, _ path: String?) {
            reject([setting], if: path?.utf8.count ?? 0 > 100, "must be at most 100 bytes long, as any socket's path")
        }
        typealias Table = SettingTable
        let (rounds, blocks) = (values[Table.rounds], values[Table.blocks].count)
        reject(
            [Table.blocks, Table.rounds],
            if: blocks > rounds - 1,
            "has \(blocks) blocks, but \(rounds) rounds (`pin.rounds`) have at most \(rounds - 1)"
        )
        // If a registration were removed while its token is still valid, another device's key could use the token.
        reject(
            [Table.unopenedLifetime, Table.tokenLifetime],
            if: values[Table.unopenedLifetime] < values[Table.tokenLifetime],
            "must not be shorter than `enrollment.token-lifetime`"
        )
        reject(
            [Table.androidApps, Table.iosApps],
            if: values[Table.androidApps].isEmpty && values[Table.iosApps].isEmpty,
            "and `ios.apps` are both empty, so that no device could register"
        )
        reject(
            [Table.androidStatusList, Table.androidApps, Table.labFolder],
            if: !values[Table.androidApps].isEmpty && values[Table.labFolder] == nil
                && !values.isSet(Table.androidStatusList),
            "must be set if `android.apps` is: without Google's list, devices with a leaked attestation key can "
                + "register. Name its file, or write `none` to accept them"
        )
        reject([Table.androidBootStates], if: values[Table.androidBootStates].isEmpty, "must not be empty")
        reject(
            [Table.androidBootStates, Table.androidBootKeys],
            if: values[Table.androidBootStates].contains(.selfSigned) && values[Table.androidBootKeys].isEmpty,
            "has self-signed, but `android.boot-keys` is empty: anyone can sign a system with their own key. List the "
                + "accepted keys, or remove self-signed"
        )
        reject([Table.iosEnvironments], if: values[Table.iosEnvironments].isEmpty, "must not be empty")
        rejectLongPath(Table.adminSocket, values[Table.adminSocket])
        rejectLongPath(Table.portalSocket, values[Table.portalSocket])
        rejectLongPath(Table.hookSocket, values[Table.hookSocket])
        rejectLongPath(Table.witnessSocket, values[Table.witnessSocket])
        rejectLongPath(Table.auditExportSocket, values[Table.auditExportSocket])
        reject(
            [Table.witnessSocket, Table.witnessProgram],
            if: values[Table.witnessSocket] != nil && values[Table.witnessProgram] != nil,
            "is set, and so is `witness.program`; name one witness"
        )
        reject(
            [Table.witnessArguments, Table.witnessProgram],
            if: values[Table.witnessProgram] == nil && !values[Table.witnessArguments].isEmpty,
            "is set, but `witness.program` is not"
        )
        let isShared = values[Table.storeKind] == .postgreSQL
        for (setting, isSet) in [
            (Table.storeAddress as any SettingDeclaration, values[Table.storeAddress] != nil),
            (Table.storeService, values[Table.storeService] != nil),
            (Table.storeServiceFile, values[Table.storeServiceFile] != nil),
            (Table.storePasswordFile, values[Table.storePasswordFile] != nil),
            (Table.clusterName, values[Table.clusterName] != nil),
            (Table.clusterServer, values[Table.clusterServer] != nil),
            (Table.durability, values[Table.durability] == .local),
        ] {
            reject(
                [setting, Table.storeKind],
                if: !isShared && isSet,
                "is set, but `store.kind` is sqlite; set it to postgresql, or remove this setting"
            )
        }
        reject(
            [Table.storeAddress, Table.storeService, Table.storeKind],
            if: isShared && (values[Table.storeAddress] == nil) == (values[Table.storeService] == nil),
            "or `store.service` must name the PostgreSQL database; set one of them, not both"
        )
        reject(
            [Table.storeService, Table.storeServiceFile],
            if: (values[Table.storeService] == nil) != (values[Table.storeServiceFile] == nil),
            "and `store.service-file` must be set together"
        )
        // A witness compares numbers of the embedded store. With PostgreSQL, a failover cannot undo an answered change.
        for (setting, isSet) in [
            (Table.witnessProgram, values[Table.witnessProgram] != nil),
            (Table.witnessSocket, values[Table.witnessSocket] != nil),
        ] {
            reject(
                [setting, Table.storeKind],
                if: isShared && isSet,
                "is set, but a witness knows only the numbers of the embedded database; remove it for `store.kind: "
                    + "postgresql`"
            )
        }
        reject(
            [Table.portalSocket, Table.adminSocket],
            if: values[Table.portalSocket] == values[Table.adminSocket],
            "must differ from `admin.socket`: the portal must not be able to give admin commands"
        )
        let addresses: [(any SettingDeclaration, HostAndPort?)] = [
            (Table.listenAddress, values[Table.listenAddress]),
            (Table.observationListen, values[Table.observationListen]),
            (Table.portalListen, values[Table.portalListen]),
            (Table.portalObservation, values[Table.portalObservation]),
        ]
        for (place, (setting, address)) in addresses.enumerated() {
            for (earlier, other) in addresses[..<place] {
                reject(
                    [setting, earlier],
                    if: address.map { other?.excludes($0) ?? false } ?? false,
                    "is the address of `\(earlier.name)` too; only one of them can listen on it"
                )
            }
        }
        reject(
            [Table.hookArguments, Table.hookProgram],
            if: values[Table.hookProgram] == nil && !values[Table.hookArguments].isEmpty,
            "is set, but `hook.program` is not"
        )
    }
}

/// The result of reading the settings, with any problems found.
///
/// It contains the valid values even if there are problems, so that an operator can see both.
package struct SettingsReport: Sendable {
    /// All settings, in table order.
    package let rows: [SettingRow]
    /// All problems found.
    ///
    /// A server starts only if there are none.
    package let problems: [ConfigProblem]
    /// The settings, or nil if there are problems.
    package let settings: ServerSettings?

    /// Merges the sources.
    package init(reading sources: SettingsSources) {
        let settings = ServerSettings(sources)
        self.rows = settings.rows
        self.problems = settings.problems
        self.settings = settings.problems.isEmpty ? settings : nil
    }
}
