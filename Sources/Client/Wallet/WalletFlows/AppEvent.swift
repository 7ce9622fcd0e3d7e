/// An event for the app's host, which may have to react to it.
public enum AppEvent: Hashable, Sendable {
    /// The app was sent to the background by a phone call, or by selecting Back on the first screen.
    case suspended
    /// Close was selected.
    ///
    /// The next resume shows the same screen.
    case closed
    /// The store was opened.
    case storeOpened
    /// The host must obtain the user's identity from the issuer (UC3.1).
    case pidRequested
    /// The host must open the wallet's scanner (PF2.7/2.1b).
    case scanRequested
    /// A valid universal link (PF2.7/1.1e), which the host application must resolve.
    ///
    /// The URL is in the normal form of RFC 3986, and may be spelled in another way than the link that was followed.
    case linkAccepted(kind: LinkKind, url: String)
    /// The server's receipts contradict the attempts made by this wallet.
    ///
    /// The user is also notified after the next unlock.
    case tampering(Tampering)
    /// The user has confirmed the host's action with the PIN or, if the host allows it, with the phone's prompt.
    case confirmed(ConfirmationRequest)
    /// The host's action was not confirmed: the user declined, or the app was locked, blocked, revoked or wiped.
    case declined(ConfirmationRequest)

    /// The name used by programs.
    ///
    /// Its meaning never changes.
    public var name: String {
        switch self {
        case .suspended: "suspended"
        case .closed: "closed"
        case .storeOpened: "store-opened"
        case .pidRequested: "pid-requested"
        case .scanRequested: "scan-requested"
        case .linkAccepted: "link-accepted"
        case .tampering: "tampering"
        case .confirmed: "confirmed"
        case .declined: "declined"
        }
    }

    /// The event values, keyed by name.
    public var values: [String: Screen.Value] {
        switch self {
        case .suspended, .closed, .storeOpened, .pidRequested, .scanRequested: [:]
        case .linkAccepted(let kind, let url): ["kind": .text(kind.rawValue), "url": .text(url)]
        case .tampering(let finding): ["kind": .text(finding.rawValue)]
        case .confirmed(let confirmation), .declined(let confirmation):
            ["title": .text(confirmation.title), "details": .text(confirmation.details)]
        }
    }
}
