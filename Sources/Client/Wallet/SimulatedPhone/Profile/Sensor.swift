/// The owner's response to biometric prompts.
package enum Sensor: Hashable, Sendable, CustomStringConvertible {
    /// The owner is recognized.
    case match
    /// The sensor rejects this many attempts before it recognizes the owner.
    case reject(Int)
    /// Every prompt is cancelled.
    case cancel
    /// The sensor is locked until the passcode is entered.
    case lockout
    /// The tester or the controlling program answers each prompt.
    case ask

    /// The behavior as written in profiles.
    package var description: String {
        switch self {
        case .match: "match"
        case .reject(let count): "reject:\(count)"
        case .cancel: "cancel"
        case .lockout: "lockout"
        case .ask: "ask"
        }
    }

    /// Parses a behavior as written in profiles.
    package init?(_ text: String) {
        switch text {
        case "match": self = .match
        case "cancel": self = .cancel
        case "lockout": self = .lockout
        case "ask": self = .ask
        default:
            guard let count = ProfileText.number(after: "reject", in: text, within: 1...99) else { return nil }
            self = .reject(count)
        }
    }

    /// All supported forms, for messages and help.
    package static let forms = ["match", "reject:N", "cancel", "lockout", "ask"]
}
