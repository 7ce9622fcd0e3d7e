internal import Foundation

/// What the program takes from its environment beside the settings.
enum ProcessEnvironment {
    /// The user's folder for sockets, where the system has one.
    static var runtimeFolder: String? {
        guard let folder = ProcessInfo.processInfo.environment["XDG_RUNTIME_DIR"], folder.hasPrefix("/"),
            FileManager.default.isWritableFile(atPath: folder)
        else { return nil }
        return folder
    }
}
