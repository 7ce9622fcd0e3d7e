/// Something in the configuration that is not as it must be.
package struct SettingsProblem: Hashable, Sendable, CustomStringConvertible {
    /// Where it stands: `server.yaml:12`, `REMOTE_PIN_PIN_ROUNDS`, `--pin.rounds`; empty where nothing says it.
    package var place: String
    /// What is wrong and what is allowed, in one sentence.
    package var message: String

    package init(place: String, message: String) {
        self.place = place
        self.message = message
    }

    package var description: String { self.place.isEmpty ? self.message : "\(self.place): \(self.message)" }
}

/// Why a configuration is not used: everything that is wrong with it, so that one edit mends it all.
package struct SettingsError: Error, Hashable, Sendable, CustomStringConvertible {
    /// At least one.
    package var problems: [SettingsProblem]

    package init(problems: [SettingsProblem]) {
        self.problems = problems
    }

    package var description: String { self.problems.map(\.description).joined(separator: "\n") }
}

/// Where a value comes from; a later case outranks an earlier one.
package enum SettingOrigin: Hashable, Sendable, CustomStringConvertible {
    case standard
    case file(String, line: Int)
    case environment(String)
    case flag(String)

    package var description: String {
        switch self {
        case .standard: "default"
        case .file(let path, let line): "\(path):\(line)"
        case .environment(let name): name
        case .flag(let name): "--\(name)"
        }
    }
}
