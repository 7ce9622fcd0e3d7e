internal import WalletFlows

extension Phone {
    /// Returns the owner's choice on a screen without an input, or nil to give up for now.
    func action(on screen: Screen) -> ActionID? {
        let offered = Set(screen.actions.map(\.id))
        // A wallet that is revoked or blocked permanently is replaced by a new one.
        let wishes: [ActionID] = [
            .createNewWallet, .writtenDown, .skip, .next, .obtain, .tryAgain, .retry, .startOver, .ok, .yesDelete,
            .dashboard, .back, .close,
        ]
        if screen.step == "PF2.8/9.1", offered.contains(.deleteWallet) { return .deleteWallet }
        return wishes.first { offered.contains($0) }
    }
}
