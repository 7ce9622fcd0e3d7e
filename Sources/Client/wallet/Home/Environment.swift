internal import FoundationEssentials

/// The process's environment.
enum Environment {
    static func value(_ name: String) -> String? {
        guard let value = ProcessInfo.processInfo.environment[name], !value.isEmpty else { return nil }
        return value
    }

    static func has(_ name: String) -> Bool { self.value(name) != nil }

    /// Where the process was started.
    static var currentFolder: String { FileManager.default.currentDirectoryPath }
}
