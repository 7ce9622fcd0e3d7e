internal import CHostSystem

/// The version information printed by all of our programs.
package enum BuildID {
    /// Incremented for each release.
    package static let version = "1.0.0"

    /// The commit that this was built from, with `-dirty` if there were uncommitted changes; nil if the build did not
    /// set it.
    package static var git: String? {
        let text = unsafe String(cString: remote_pin_build_id())
        return text.isEmpty ? nil : text
    }

    /// Returns the line printed by `--version`.
    package static func text(of program: String) -> String {
        let build = self.git.map { "git \($0)" } ?? "built without a git id"
        return "\(program) \(self.version) (\(build), protocol remote-pin/1)"
    }
}
