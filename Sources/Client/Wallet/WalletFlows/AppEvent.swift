/// An event for the app's host, which may have to act on it.
public enum AppEvent: Hashable, Sendable {
    /// The app went to the background, either because of a phone call or because Back was selected on the first screen.
    case suspended
    /// Close was selected; the next resume shows the same screen.
    case closed
    /// The store was opened.
    case storeOpened
    /// The host must ask the issuer of the identity (UC3.1).
    case pidRequested
    /// The host must open the wallet's scanner (PF2.7/2.1b).
    case scanRequested
    /// A valid universal link (PF2.7/1.1e), which the host application resolves.
    case linkAccepted(kind: LinkKind, url: String)
    /// The server's receipts contradict the attempts that this wallet sent. The wallet also tells the user after the
    /// next unlock.
    case tampering(Tampering)

    /// The name used by programs, whose meaning never changes.
    public var name: String {
        switch self {
        case .suspended: "suspended"
        case .closed: "closed"
        case .storeOpened: "store-opened"
        case .pidRequested: "pid-requested"
        case .scanRequested: "scan-requested"
        case .linkAccepted: "link-accepted"
        case .tampering: "tampering"
        }
    }

    /// The values of the event, by name.
    public var values: [String: Screen.Value] {
        switch self {
        case .suspended, .closed, .storeOpened, .pidRequested, .scanRequested: [:]
        case .linkAccepted(let kind, let url): ["kind": .text(kind.rawValue), "url": .text(url)]
        case .tampering(let finding): ["kind": .text(finding.rawValue)]
        }
    }
}
