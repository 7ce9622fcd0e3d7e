internal import Logging
internal import ServiceLifecycle
internal import Vocabulary
internal import WalletStore
package import Wire

extension RemotePINServer {
    /// How often the timers are looked at, in real time; nothing that a wallet may do hangs on it.
    private static let interval: Duration = .seconds(5)

    /// Runs every timer that is due: ends sessions, removes registrations that no session was opened for.
    ///
    /// What these timers end is refused by the calls themselves from the same moment on; here it is only cleared away.
    package func runDueTimers() async {
        let now = self.services.clock.now()
        self.services.attestations.refresh(at: now, log: self.log)
        let ended = self.services.registry.endSessions(dueAt: now)
        if ended > 0 { self.log.info("sessions ended", metadata: ["count": "\(ended)"]) }
        self.services.limitMetrics.note(sources: self.services.sources.count)
        await self.keep(self.services.lastSessions.takeDue(at: now))
        await self.refreshControls()
        let limit = now + (.zero - self.services.rules.unopenedLifetime)
        do throws(StoreError) {
            let removed = try await self.services.store.sweep(unopenedSince: limit)
            if removed > 0 { self.log.info("unopened registrations removed", metadata: ["count": "\(removed)"]) }
        } catch {
            self.log.warning("the sweep was not done", metadata: ["reason": "\(error)"])
        }
    }

    /// Tells the store which wallets had sessions.
    private func keep(_ sessions: [WalletID: Timestamp]) async {
        do throws(StoreError) {
            try await self.services.store.keepLastSessions(sessions)
            self.services.lastSessions.told(sessions)
        } catch {
            self.services.lastSessions.putBack(sessions)
            self.log.debug("the last sessions were not kept", metadata: ["reason": "\(error)"])
        }
    }

    /// Takes over what operators set through another server on the same store.
    private func refreshControls() async {
        do throws(StoreError) {
            try await self.services.controls.refresh()
        } catch {
            self.log.warning("what operators set was not read again", metadata: ["reason": "\(error)"])
        }
    }

    /// Reads the status list again, changed or not, and what operators set; says of each whether the old one stays.
    package func reload() async -> [ReloadedPart] {
        var parts: [ReloadedPart] = []
        if self.services.attestations.hasFile {
            let problem = self.services.attestations.refresh(at: self.services.clock.now(), forced: true, log: self.log)
            parts.append(ReloadedPart("status list", problem: problem.map { "\($0)" }))
        }
        var problem: String?
        do throws(StoreError) {
            try await self.services.controls.refresh()
        } catch {
            problem = "the store did not give them"
            self.log.error("the old flags and update policy stay", metadata: ["reason": "\(error)"])
        }
        return parts + [ReloadedPart("flags and update policy", problem: problem)]
    }

    /// Runs the timers until graceful shutdown or cancellation.
    package func runTimers() async {
        await cancelWhenGracefulShutdown {
            while (try? await Task.sleep(for: Self.interval)) != nil { await self.runDueTimers() }
        }
        await self.keep(self.services.lastSessions.takeAll())
    }
}
