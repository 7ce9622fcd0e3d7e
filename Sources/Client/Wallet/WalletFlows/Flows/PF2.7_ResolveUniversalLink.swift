internal import Vocabulary

/// PF2.7 Resolve a universal link: whether the app may take it up, and the hand-over to the host application.
///
///     none, not ours ──▶ none
///     from another app's scanner ──▶ scan it here (2) ──Close, Scan QR code──▶ rejected
///     a session is running ──▶ finish it first (4) ──OK──▶ rejected
///     no identity yet ──▶ not ready (3) ──OK──▶ rejected
///     else ──event link-accepted──▶ accepted
struct ResolveUniversalLink: Flow {
    var place: Place { .behindLock }
    var takesLink: Bool { true }

    mutating func start(_ snapshot: Snapshot) -> Transition {
        guard let link = snapshot.link, let kind = LinkKind(of: link.url, below: snapshot.linkBase) else {
            return .finish(.link(.none), after: "PF2.7/1.1a")
        }
        if link.source == .externalScanner {
            let scene = Scene("PF2.7/2.1", .prompt, .scanWithWallet, .scanWithWalletWhy)
                .offering((.close, "PF2.7/2.1a"), (.scanQRCode, "PF2.7/2.1b"))
            return .show(scene, after: "PF2.7/1.1b")
        }
        if let session = snapshot.hostSession {
            let scene = Scene("PF2.7/4.1", .prompt, .finishFirst(session), .finishFirstWhy)
                .offering((.ok, "PF2.7/4.1a"))
            return .show(scene, after: "PF2.7/1.1d")
        }
        guard snapshot.hasPID else {
            let scene = Scene("PF2.7/3.1", .prompt, .notReady, .notReadyWhy).offering((.ok, "PF2.7/3.1a"))
            return .show(scene, after: "PF2.7/1.1c")
        }
        let event = AppEvent.linkAccepted(kind: kind, url: link.url)
        return Transition(.finish(.link(.accepted)), steps: ["PF2.7/1.1e"], events: [event])
    }

    mutating func select(_ action: ActionID, _ snapshot: Snapshot) -> Transition {
        switch action {
        case .scanQRCode: Transition(.finish(.link(.rejected)), events: [.scanRequested])
        case .close, .ok: .finish(.link(.rejected))
        case _: .stay
        }
    }
}
