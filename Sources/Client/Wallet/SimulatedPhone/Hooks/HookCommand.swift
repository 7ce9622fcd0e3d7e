/// Programs that replace parts of a phone (docs/devices.md, Hooks).
package struct DeviceHooks: Sendable {
    /// The program that answers the prompts of the operating system.
    package var biometric: HookCommand?
    /// The program that replaces the hardware key: it creates and attests, signs or asserts, and
    /// deletes.
    package var key: HookCommand?
    /// The program that replaces the issuer of person identification data.
    package var issuer: HookCommand?
    /// Receives a message for the user after each failure of a hook; it contains no secret.
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

    /// True if no hook is set.
    package var isEmpty: Bool { self.biometric == nil && self.key == nil && self.issuer == nil }

    /// The part of the phone that a hook replaces.
    enum Kind: String, Sendable {
        case biometric
        case key
        case issuer

        /// The default time limit: a person may have to pick up a phone, or identify themselves.
        var timeLimit: Duration {
            switch self {
            case .biometric: .seconds(60)
            case .key: .seconds(30)
            case .issuer: .seconds(300)
            }
        }
    }
}

/// A command line for the shell with its time limit.
package struct HookCommand: Hashable, Sendable {
    package var line: String
    /// Nil for the default: 60 s for a prompt, 30 s for the key, 300 s for the issuer.
    package var timeLimit: Duration?

    package init(_ line: String, timeLimit: Duration? = nil) {
        self.line = line
        self.timeLimit = timeLimit
    }
}

/// The reason why a hook gave no answer; each part of the phone defines the consequence.
enum HookFailure: Error, Hashable, CustomStringConvertible {
    /// It could not be started.
    case notStarted
    /// It exceeded the time limit and was killed with all processes that it had started.
    case overTime(Duration)
    /// It exited with a status other than 0; `lastLine` is the last line of its standard error.
    case failed(status: String, lastLine: String)
    /// It wrote more bytes than an answer can have.
    case tooLong(limit: Int)
    /// Its output is not one JSON object.
    case noObject
    /// A value in the answer is invalid.
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
