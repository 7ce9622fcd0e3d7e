/// The way the owner responds to biometric prompts.
package enum Sensor: Hashable, Sendable, CustomStringConvertible {
    /// The owner is recognized.
    case match
    /// The sensor rejects this many presentations, then recognizes the owner.
    case reject(Int)
    /// Every prompt is cancelled.
    case cancel
    /// The sensor is locked until the passcode is entered.
    case lockout
    /// The tester or driver decides at each prompt.
    case ask

    /// The notation used in profiles.
    package var description: String {
        switch self {
        case .match: "match"
        case .reject(let count): "reject:\(count)"
        case .cancel: "cancel"
        case .lockout: "lockout"
        case .ask: "ask"
        }
    }

    /// Parses the notation used in profiles.
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

    /// All forms of the notation, for messages and help.
    package static let forms = ["match", "reject:N", "cancel", "lockout", "ask"]
}
