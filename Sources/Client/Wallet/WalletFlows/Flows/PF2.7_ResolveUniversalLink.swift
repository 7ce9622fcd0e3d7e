/// PF2.7 Resolve a universal link: decides whether the app may accept it, and passes it to the host application.
///
///     no link, or another app's ──▶ none
///     from an external scanner ──▶ scan it here (2) ──Close, Scan QR code──▶ rejected
///     a session is running ──▶ finish it first (4) ──OK──▶ rejected
///     no identity yet ──▶ not ready (3) ──OK──▶ rejected
///     else ──event link-accepted──▶ accepted
struct ResolveUniversalLink: Flow {
    var place: Place { .behindLock }
    var takesLink: Bool { true }

    func enter(_ snapshot: Snapshot) -> Transition {
        guard let link = snapshot.link, let valid = WalletLink(link.url, below: snapshot.linkBase) else {
            return .finish(.link(.none), after: "PF2.7/1.1a")
        }
        let reject = Transition.finish(.link(.rejected))
        if link.source == .externalScanner {
            return .show(
                Dialog("PF2.7/2.1", .prompt, .scanWithWallet, .scanWithWalletWhy)
                    .offering(.close, "PF2.7/2.1a", reject)
                    .offering(.scanQRCode, "PF2.7/2.1b", Transition(reject.next, events: [.scanRequested])),
                after: "PF2.7/1.1b"
            )
        }
        if let session = snapshot.hostSession {
            return .show(
                Dialog("PF2.7/4.1", .prompt, .finishFirst(session), .finishFirstWhy)
                    .offering(.ok, "PF2.7/4.1a", reject),
                after: "PF2.7/1.1d"
            )
        }
        guard snapshot.hasPID else {
            return .show(
                Dialog("PF2.7/3.1", .prompt, .notReady, .notReadyWhy)
                    .offering(.ok, "PF2.7/3.1a", reject),
                after: "PF2.7/1.1c"
            )
        }
        let event = AppEvent.linkAccepted(kind: valid.kind, url: valid.url)
        return Transition(.finish(.link(.accepted)), steps: ["PF2.7/1.1e"], events: [event])
    }
}
