internal import CBuildID

/// The version information that every program of this project prints.
package enum BuildID {
    /// Incremented for each release.
    package static let version = "0.1.0"

    /// The commit of the build, with `-dirty` if files had changed; nil if the build did not set it.
    package static var git: String? {
        let text = unsafe String(cString: remote_pin_build_id())
        return text.isEmpty ? nil : text
    }

    /// The line that `--version` prints.
    package static func text(of program: String) -> String {
        let build = self.git.map { "git \($0)" } ?? "built without a git id"
        return "\(program) \(self.version) (\(build), protocol remote-pin/1)"
    }
}
