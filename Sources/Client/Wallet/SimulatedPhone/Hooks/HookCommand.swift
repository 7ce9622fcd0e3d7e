/// The programs that replace parts of a phone (docs/devices.md, Hooks).
package struct DeviceHooks: Sendable {
    /// The program that answers system prompts.
    package var biometric: HookCommand?
    /// The program that replaces the hardware key.
    ///
    /// It creates, attests and deletes keys, and uses them to create signatures (Android) or assertions (iOS).
    package var key: HookCommand?
    /// The program that replaces the issuer of person identification data.
    package var issuer: HookCommand?
    /// Called with a message for the user whenever a hook fails.
    ///
    /// The message never contains a secret.
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

    /// Whether no hooks are set.
    package var isEmpty: Bool { self.biometric == nil && self.key == nil && self.issuer == nil }

    /// The part of the phone replaced by a hook.
    enum Kind: String, Sendable {
        case biometric
        case key
        case issuer

        /// The default time limit.
        ///
        /// The limits are generous because a person may have to pick up a phone or identify themselves first.
        var timeLimit: Duration {
            switch self {
            case .biometric: .seconds(60)
            case .key: .seconds(30)
            case .issuer: .seconds(300)
            }
        }
    }
}

/// A shell command and its time limit.
package struct HookCommand: Hashable, Sendable {
    package var line: String
    /// The time limit, or nil for the default: 60 s for a prompt, 30 s for the key, or 300 s for the issuer.
    package var timeLimit: Duration?

    package init(_ line: String, timeLimit: Duration? = nil) {
        self.line = line
        self.timeLimit = timeLimit
    }
}

/// An error from a hook that did not answer.
///
/// The part of the phone that uses the hook decides how to handle it.
enum HookFailure: Error, Hashable, CustomStringConvertible {
    /// The program could not be started.
    case notStarted
    /// The program timed out and was killed, along with every process it had started.
    case overTime(Duration)
    /// The program exited with a nonzero status. `lastLine` is the end of its standard error.
    case failed(status: String, lastLine: String)
    /// The output exceeds the limit, in bytes.
    case tooLong(limit: Int)
    /// The output is not a single JSON object.
    case noObject
    /// The answer contains an invalid value.
    case wrong(String)

    var description: String {
        switch self {
        case .notStarted: "it could not be started"
        case .overTime(let limit): "it took longer than \(limit) and was killed"
        case .failed(let status, ""): "it exited with \(status)"
        case .failed(let status, let lastLine): "it exited with \(status): \(lastLine)"
        case .tooLong(let limit): "it wrote more than \(limit) bytes"
        case .noObject: "its answer is not one JSON object"
        case .wrong(let text): text
        }
    }
}
