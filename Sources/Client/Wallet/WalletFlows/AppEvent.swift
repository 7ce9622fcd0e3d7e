/// What leaves the flows: things the host of the app does or hears.
public enum AppEvent: Hashable, Sendable {
    /// The app went to the background: Back where there is no screen before, or the phone took over.
    case suspended
    /// Close was selected; the next resume shows the same screen.
    case closed
    /// The store was opened.
    case storeOpened
    /// The issuer of the identity is to be asked (UC3.1).
    case pidRequested
    /// The wallet's own scanner is to be opened (PF2.7/2.1b).
    case scanRequested
    /// A valid universal link (PF2.7/1.1e): what follows is the host application's.
    case linkAccepted(kind: LinkKind, url: String)

    /// What programs know it by; a name never changes its meaning.
    public var name: String {
        switch self {
        case .suspended: "suspended"
        case .closed: "closed"
        case .storeOpened: "store-opened"
        case .pidRequested: "pid-requested"
        case .scanRequested: "scan-requested"
        case .linkAccepted: "link-accepted"
        }
    }

    /// What comes with it, by name.
    public var values: [String: Screen.Value] {
        switch self {
        case .suspended, .closed, .storeOpened, .pidRequested, .scanRequested: [:]
        case .linkAccepted(let kind, let url): ["kind": .text(kind.rawValue), "url": .text(url)]
        }
    }
}
