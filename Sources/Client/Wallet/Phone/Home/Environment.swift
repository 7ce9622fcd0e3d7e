internal import FoundationEssentials

/// Access to the process environment.
package enum Environment {
    /// Returns the value of a variable, or nil if it is unset or empty.
    package static func value(_ name: String) -> String? {
        guard let value = ProcessInfo.processInfo.environment[name], !value.isEmpty else { return nil }
        return value
    }

    /// Returns whether a variable is set and not empty.
    package static func has(_ name: String) -> Bool { self.value(name) != nil }

    /// Resolves a relative path against the current working directory.
    package static func absolute(_ path: String) -> String {
        path.hasPrefix("/") ? path : "\(FileManager.default.currentDirectoryPath)/\(path)"
    }
}
