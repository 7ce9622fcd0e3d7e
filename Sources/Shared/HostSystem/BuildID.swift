internal import CBuildID

/// What every program of this project says of itself.
package enum BuildID {
    /// Raised with each release.
    package static let version = "0.1.0"

    /// The commit that the program was built from, with `-dirty` where files had changed; nil where the build did not say.
    package static var git: String? {
        let text = unsafe String(cString: remote_pin_build_id())
        return text.isEmpty ? nil : text
    }

    /// The line that `--version` prints.
    package static func text(of program: String) -> String {
        "\(program) \(self.version) (\(self.git.map { "git \($0)" } ?? "built without a git id"), protocol remote-pin/1)"
    }
}
