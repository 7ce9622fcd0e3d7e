internal import Vocabulary
internal import WalletStore
internal import Wire

extension Conversation {
    /// Answers the first call with the terms of service for this version of the app.
    mutating func hello(_ hello: Hello) async throws -> CallResult {
        let (terms, now) = (self.server.terms, self.server.clock.now())
        let update = terms.controls.verdict(on: hello.appVersion, platform: hello.platform, at: now)
        try self.machine.requireFirstHello()
        // Must be read before the state changes, because a client may repeat a Hello that could not be answered.
        let solutionRevoked = try await self.server.store.isSolutionRevoked()
        try self.machine.receiveHello(servesVersion: !update.blocks)
        self.app = ClaimedApp(version: hello.appVersion, platform: hello.platform)
        return .hello(
            ServerTerms(
                serverTime: now,
                update: update,
                policy: terms.rules.attempts,
                features: terms.features,
                solutionRevoked: solutionRevoked,
                limits: ServerTerms.Limits(
                    maxInFlight: terms.rules.maxInFlight,
                    sessionLifetime: terms.rules.sessionLifetime,
                    tokenLifetime: terms.rules.tokenLifetime
                )
            )
        )
    }
}

extension UpdateVerdict {
    /// Whether the version is blocked, in which case the app may only revoke its wallet or report a wipe.
    fileprivate var blocks: Bool {
        if case .block = self { return true }
        return false
    }
}
