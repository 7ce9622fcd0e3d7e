/// How a phone answers its prompts by itself.
public enum Sensor: Hashable, Sendable, CustomStringConvertible {
    /// The owner is there.
    case match
    /// So many times somebody else or a wet finger, then the owner.
    case reject(Int)
    /// Every prompt is sent away.
    case cancel
    /// It takes nothing more until the passcode was entered.
    case lockout
    /// Whoever drives the wallet says at each prompt what is presented.
    case ask

    /// How a profile writes it.
    public var description: String {
        switch self {
        case .match: "match"
        case .reject(let count): "reject:\(count)"
        case .cancel: "cancel"
        case .lockout: "lockout"
        case .ask: "ask"
        }
    }

    /// Reads what a profile writes; nil for anything else.
    public init?(_ text: String) {
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

    /// What there is to choose from, for messages and help.
    public static let forms = ["match", "reject:N", "cancel", "lockout", "ask"]
}
