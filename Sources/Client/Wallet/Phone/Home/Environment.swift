internal import FoundationEssentials

/// The process's environment.
package enum Environment {
    /// What a variable says; nil where it is not set or empty.
    package static func value(_ name: String) -> String? {
        guard let value = ProcessInfo.processInfo.environment[name], !value.isEmpty else { return nil }
        return value
    }

    /// Whether a variable says anything.
    package static func has(_ name: String) -> Bool { self.value(name) != nil }

    /// A path as seen from where the process was started.
    package static func absolute(_ path: String) -> String {
        path.hasPrefix("/") ? path : "\(FileManager.default.currentDirectoryPath)/\(path)"
    }
}
