internal import Vocabulary
internal import WalletStore
internal import Wire

extension Conversation {
    /// The first call: on which terms this version of the app is served.
    mutating func hello(_ hello: Hello) async throws(CallFailure) -> CallResult {
        let (rules, now) = (self.services.rules, self.services.clock.now())
        let update = self.services.controls.verdict(on: hello.appVersion, platform: hello.platform, at: now)
        let store = self.services.store
        // Before the machine moves: a Hello that could not be answered may be said again.
        let solutionRevoked = try await stored { () throws(StoreError) in try await store.isSolutionRevoked() }
        try self.inOrder { machine throws(OrderViolation) in
            try machine.receiveHello(servesVersion: !update.blocks)
        }
        self.app = ClaimedApp(version: hello.appVersion, platform: hello.platform)
        let terms = ServerTerms(
            serverTime: now,
            update: update,
            policy: rules.attempts,
            features: self.services.features,
            solutionRevoked: solutionRevoked,
            limits: ServerTerms.Limits(
                maxInFlight: rules.maxInFlight,
                sessionLifetime: rules.sessionLifetime,
                tokenLifetime: rules.tokenLifetime
            )
        )
        return .hello(terms)
    }
}

extension UpdateVerdict {
    /// Whether the version is served nothing but what ends its use.
    fileprivate var blocks: Bool {
        if case .block = self { return true }
        return false
    }
}
