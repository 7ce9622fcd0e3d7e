package import Vocabulary

/// The value of every setting, each with its origin.
///
/// Defaults are outranked by the file, the file by the environment and that by flags. A value that exists is within
/// its range, and the rules that join several settings hold.
package struct ServerSettings: Sendable {
    private var values: [String: any Sendable] = [:]
    private var origins: [String: SettingOrigin] = [:]
    /// Those that a source tried to set and could not; what they hold is another source's.
    private var refused: Set<String> = []

    /// The configuration file's text with the path that problems name, and the folder that its paths are relative to.
    package struct File: Sendable {
        package var path: String
        package var folder: String
        package var text: String

        package init(path: String, folder: String, text: String) {
            self.path = path
            self.folder = folder
            self.text = text
        }
    }

    /// Joins the sources.
    ///
    /// - Parameter sections: the sections that are needed, where it is not all of them; the others need not be complete,
    ///   and their settings must not be asked for.
    /// - Throws: all problems at once: unknown names, values outside their range, settings that nobody made, and
    ///   settings that do not go together.
    package init(
        file: File?,
        environment: [String: String] = [:],
        flags: [(name: String, value: String)] = [],
        currentFolder: String,
        sections: Set<String>? = nil
    ) throws(SettingsError) {
        var problems: [SettingsProblem] = []
        self.init(
            reading: SettingsSources(file: file, environment: environment, flags: flags, currentFolder: currentFolder),
            sections: sections,
            problems: &problems
        )
        guard problems.isEmpty else { throw SettingsError(problems: problems) }
    }

    /// Joins the sources as far as they can be; what could not be taken over is among `problems`, and a value with a
    /// problem of its own must not be asked for.
    init(reading origin: SettingsSources, sections: Set<String>? = nil, problems: inout [SettingsProblem]) {
        let (file, currentFolder) = (origin.file, origin.currentFolder)
        var sources: [SettingsSource] = []
        if let file { sources.append(SettingsSource(yaml: file.text, path: file.path, folder: file.folder)) }
        sources.append(SettingsSource(environment: origin.environment, folder: currentFolder))
        sources.append(SettingsSource(flags: origin.flags, folder: currentFolder))
        problems = sources.flatMap(\.problems)

        self.takeStandards(folder: file?.folder ?? currentFolder)
        var refused: Set<String> = []
        for assignment in sources.flatMap(\.assignments) {
            guard let problem = self.take(assignment) else { continue }
            problems.append(problem)
            refused.insert(assignment.declaration.name)
        }
        // Only what nobody tried to set is missing; a wrong value has been named already.
        let named = Set(sources.flatMap(\.assignments).map(\.declaration.name))
        let isComplete = !sources.contains(where: \.isUnreadable)
        for declaration in SettingTable.all where isComplete && self.values[declaration.name] == nil {
            guard !named.contains(declaration.name), sections?.contains(declaration.group) ?? true else { continue }
            let message = "`\(declaration.name)` must be set: \(declaration.allowed)"
            problems.append(SettingsProblem(place: file?.path ?? "", message: message))
        }
        if isComplete { problems += self.contradictions(except: refused, in: sections) }
        self.refused = refused
    }

    /// The value of a setting.
    package subscript<Value>(_ setting: Setting<Value>) -> Value {
        guard let value = self.values[setting.name] as? Value else {
            preconditionFailure("\(setting.name) is in the table, so it has a value")
        }
        return value
    }

    /// Where a setting's value comes from.
    package func origin(of name: String) -> SettingOrigin { self.origins[name] ?? .standard }

    /// Every setting as an operator may see it, in the table's order.
    package var rows: [SettingRow] {
        SettingTable.all.map { declaration in
            let value = self.values[declaration.name].map { declaration.publicText(of: $0) }
            let isRefused = self.refused.contains(declaration.name)
            return SettingRow(
                name: declaration.name,
                value: isRefused ? nil : value,
                origin: isRefused || value == nil ? nil : self.origin(of: declaration.name)
            )
        }
    }

    /// The policy that the settings of `pin` make.
    package var attemptPolicy: AttemptPolicy {
        let policy = AttemptPolicy(
            rounds: self[SettingTable.rounds],
            attemptsPerRound: self[SettingTable.attemptsPerRound],
            blocks: self[SettingTable.blocks]
        )
        guard let policy else { preconditionFailure("what contradicts the policy's ranges was refused") }
        return policy
    }

    /// Paths among the defaults are relative to the configuration's folder, as they would be in the file.
    private mutating func takeStandards(folder: String) {
        for declaration in SettingTable.all {
            if declaration.form == "path", let text = declaration.standardText {
                let raw = RawValue(texts: [text], isList: false, folder: folder)
                self.values[declaration.name] = declaration.value(of: raw)
            } else {
                self.values[declaration.name] = declaration.standardValue
            }
        }
    }

    private mutating func take(_ assignment: Assignment) -> SettingsProblem? {
        let declaration = assignment.declaration
        guard let value = declaration.value(of: assignment.raw) else {
            let written = declaration.isSecret ? SettingRow.hidden : assignment.raw.texts.joined(separator: ", ")
            let message = "`\(declaration.name)` cannot be `\(written)`; allowed: \(declaration.allowed)"
            return SettingsProblem(place: assignment.origin.description, message: message)
        }
        self.values[declaration.name] = value
        self.origins[declaration.name] = assignment.origin
        return nil
    }

    /// What each setting alone cannot tell; nothing about those in `refused`, which have no value of their own, and those
    /// outside the sections that are needed.
    private func contradictions(except refused: Set<String>, in sections: Set<String>?) -> [SettingsProblem] {
        var problems: [SettingsProblem] = []
        func refuse(_ settings: [any SettingDeclaration], if isContradiction: Bool, _ message: String) {
            guard isContradiction, refused.isDisjoint(with: settings.map(\.name)),
                sections?.isSuperset(of: settings.map(\.group)) ?? true
            else { return }
            let origin = self.origin(of: settings[0].name)
            let place = origin == .standard ? "" : origin.description
            problems.append(SettingsProblem(place: place, message: "`\(settings[0].name)` \(message)"))
        }
        typealias Table = SettingTable
        let (rounds, blocks) = (self[Table.rounds], self[Table.blocks].count)
        refuse(
            [Table.blocks, Table.rounds],
            if: blocks > rounds - 1,
            "has \(blocks) blocks; \(rounds) rounds (`pin.rounds`) have at most \(rounds - 1)"
        )
        // A registration that is swept while its token lives could be taken by another device's key.
        refuse(
            [Table.unopenedLifetime, Table.tokenLifetime],
            if: self[Table.unopenedLifetime] < self[Table.tokenLifetime],
            "must not be shorter than `enrollment.token-lifetime`"
        )
        refuse(
            [Table.androidApps, Table.iosApps],
            if: self[Table.androidApps].isEmpty && self[Table.iosApps].isEmpty,
            "and `ios.apps` are both empty: no device could register"
        )
        refuse([Table.androidBootStates], if: self[Table.androidBootStates].isEmpty, "must not be empty")
        refuse([Table.iosEnvironments], if: self[Table.iosEnvironments].isEmpty, "must not be empty")
        refuse(
            [Table.adminSocket],
            if: self[Table.adminSocket].utf8.count > 100,
            "is longer than 100 bytes; a socket's path cannot be"
        )
        refuse(
            [Table.portalSocket],
            if: self[Table.portalSocket]?.utf8.count ?? 0 > 100,
            "is longer than 100 bytes; a socket's path cannot be"
        )
        refuse(
            [Table.portalSocket, Table.adminSocket],
            if: self[Table.portalSocket] == self[Table.adminSocket],
            "is `admin.socket`; the portal's is one of its own, over which nobody commands the server"
        )
        refuse(
            [Table.hookSocket],
            if: self[Table.hookSocket]?.utf8.count ?? 0 > 100,
            "is longer than 100 bytes; a socket's path cannot be"
        )
        refuse(
            [Table.hookArguments, Table.hookProgram],
            if: self[Table.hookProgram] == nil && !self[Table.hookArguments].isEmpty,
            "are given and `hook.program` is not"
        )
        return problems
    }
}
