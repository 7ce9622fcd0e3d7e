/// Programs that stand in for parts of a phone (docs/devices.md, Hooks).
package struct DeviceHooks: Sendable {
    /// For the prompts of the operating system.
    package var biometric: HookCommand?
    /// For the hardware key: create and attest, sign or assert, delete.
    package var key: HookCommand?
    /// For the issuer of identities.
    package var issuer: HookCommand?
    /// Told of every hook that did not do its work, in a sentence for people; holds nothing that is secret.
    package var report: @Sendable (String) -> Void

    package init(
        biometric: HookCommand? = nil,
        key: HookCommand? = nil,
        issuer: HookCommand? = nil,
        report: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        self.biometric = biometric
        self.key = key
        self.issuer = issuer
        self.report = report
    }

    /// Whether there is none.
    package var isEmpty: Bool { self.biometric == nil && self.key == nil && self.issuer == nil }

    /// What one of them stands for.
    enum Kind: String, Sendable {
        case biometric
        case key
        case issuer

        /// How long it may take where nothing else is said: somebody may have to pick up a phone, or identify themselves.
        var timeLimit: Duration {
            switch self {
            case .biometric: .seconds(60)
            case .key: .seconds(30)
            case .issuer: .seconds(300)
            }
        }
    }
}

/// A command line for the shell, and how long it may take.
package struct HookCommand: Hashable, Sendable {
    package var line: String
    /// Nil: 60 s for a prompt, 30 s for the key, 300 s for the issuer.
    package var timeLimit: Duration?

    package init(_ line: String, timeLimit: Duration? = nil) {
        self.line = line
        self.timeLimit = timeLimit
    }
}

/// Why a hook has no answer; each part of a phone says for itself what follows.
enum HookFailure: Error, Hashable, CustomStringConvertible {
    /// It could not be started.
    case notStarted
    /// It took longer than it may and was ended, with all that it had started.
    case overTime(Duration)
    /// It ended with another status than 0; with the last line that it wrote to its standard error.
    case failed(status: String, lastLine: String)
    /// It wrote more than an answer can have.
    case tooLong(limit: Int)
    /// What it wrote is not one JSON object.
    case noObject
    /// Something in the answer is not as it must be.
    case wrong(String)

    var description: String {
        switch self {
        case .notStarted: "it could not be started"
        case .overTime(let limit): "it took longer than \(limit) and was ended"
        case .failed(let status, ""): "it ended with \(status)"
        case .failed(let status, let lastLine): "it ended with \(status): \(lastLine)"
        case .tooLong(let limit): "it wrote more than \(limit) bytes"
        case .noObject: "its answer is not one JSON object"
        case .wrong(let text): text
        }
    }
}
