internal import Logging
internal import ServiceLifecycle
internal import Synchronization
internal import Vocabulary
internal import WalletStore

extension RemotePINServer {
    /// The interval at which the timers are checked, in real time.
    ///
    /// It does not affect what a wallet is allowed to do.
    private static let interval: Duration = .seconds(5)

    /// Runs every timer that is due, for example to end sessions and to remove registrations without a session.
    ///
    /// Calls reject sessions and registrations from the moment they expire, so the timers only clean up.
    package func runDueTimers() async {
        let now = self.state.clock.now()
        self.state.devices.attestations.refresh(at: now, log: self.log)
        let ended = self.state.registry.endSessions(dueAt: now)
        if ended > 0 { self.log.info("sessions ended", metadata: ["count": "\(ended)"]) }
        self.state.limits.recordSources()
        await self.write(self.state.lastSessions.takeDue(at: now))
        await self.state.permanentBlocks.recordMissing(log: self.log)
        self.logRoot(at: now)
        await self.refreshControls()
        // One of several servers is enough.
        guard self.state.lease?.hasMaintenance ?? true else { return }
        let limit = now + (.zero - self.state.terms.rules.unopenedLifetime)
        do throws(StoreError) {
            let removed = try await self.state.store.sweep(unopenedSince: limit)
            if removed > 0 { self.log.info("unopened registrations removed", metadata: ["count": "\(removed)"]) }
        } catch {
            self.log.warning("unopened registrations were not removed", metadata: ["reason": "\(error)"])
        }
    }

    /// The interval at which receipt roots are written to the server's log.
    private static let rootInterval: Duration = .seconds(3600)

    /// Writes the newest signed receipt root to the server's log every hour, and on shutdown if it is new.
    ///
    /// Like audit log marks, the root is written regardless of the log level. If the store is later replaced with an
    /// older one, a copy of the server's log on another machine reveals that.
    private func logRoot(at now: Timestamp, isLast: Bool = false) {
        guard let root = self.state.store.newestRoot else { return }
        let isDue = self.state.loggedRoot.withLock { logged in
            guard logged?.root != root, isLast || logged.map({ now >= $0.at + Self.rootInterval }) ?? true else {
                return false
            }
            logged = (at: now, root: root)
            return true
        }
        guard isDue else { return }
        var stream = self.log
        stream.logLevel = .notice
        stream.notice("receipts", metadata: ["epoch": "\(root.epoch)", "signedRoot": "\(root.encoded().hex)"])
    }

    /// Writes the times of last sessions to the store.
    private func write(_ sessions: [WalletID: Timestamp]) async {
        do throws(StoreError) {
            try await self.state.store.keepLastSessions(sessions)
            self.state.lastSessions.confirm(sessions)
        } catch {
            self.state.lastSessions.putBack(sessions)
            self.log.debug("the times of last sessions were not written", metadata: ["reason": "\(error)"])
        }
    }

    /// Rereads the flags and update policies, because operators may have set them through another server on the same
    /// store.
    private func refreshControls() async {
        do throws(StoreError) {
            try await self.state.terms.controls.refresh()
        } catch {
            // The store logs the reason for which it is unavailable, and this line would only hide it.
            let level: Logger.Level = error == .unavailable ? .debug : .warning
            self.log.log(level: level, "flags and update policy were not read again", metadata: ["reason": "\(error)"])
        }
    }

    /// Rereads the status list, whether or not it has changed, and the flags and update policies.
    ///
    /// Returns the result for each part.
    package func reload() async -> [ReloadedPart] {
        var parts: [ReloadedPart] = []
        if self.state.devices.attestations.hasFile {
            let problem = self.state.devices.attestations.refresh(
                at: self.state.clock.now(),
                forced: true,
                log: self.log
            )
            parts.append(ReloadedPart("status list", problem: problem.map { "\($0)" }))
        }
        var problem: String?
        do throws(StoreError) {
            try await self.state.terms.controls.refresh()
        } catch {
            problem = "the store did not give them"
            self.log.error("the old flags and update policy stay", metadata: ["reason": "\(error)"])
        }
        return parts + [ReloadedPart("flags and update policy", problem: problem)]
    }

    /// Runs the timers until graceful shutdown or cancellation.
    package func runTimers() async {
        // Blocks from an earlier process are recorded at start and not after the first interval.
        await self.state.permanentBlocks.recordMissing(log: self.log)
        await cancelWhenGracefulShutdown {
            while (try? await self.state.time.sleep(for: Self.interval)) != nil { await self.runDueTimers() }
        }
        await self.write(self.state.lastSessions.takeAll())
        await self.state.permanentBlocks.recordMissing(log: self.log)
        self.logRoot(at: self.state.clock.now(), isLast: true)
    }
}
