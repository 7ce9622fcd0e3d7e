/// Revocations through one of two servers while the other one answers the wallet.
extension Simulation {
    /// Hinders the server that gets the next request of an unlocked wallet, and revokes the wallet through another one.
    func revokeElsewhere(_ hindrance: Fault.Hindrance, seconds: Int, after delay: Int64, _ way: Plan.Revocation) {
        self.network.atNextRequest { link in
            let wallet = self.observer.wallet(on: link)
            guard let phone = self.phones.first(where: { $0.has(wallet) }),
                let number = self.servers.firstIndex(where: { $0.process === link.serverProcess })
            else { return self.revokeElsewhere(hindrance, seconds: seconds, after: delay, way) }
            self.hinder(number, link, hindrance, seconds: seconds)
            self.scheduler.schedule(after: delay, in: self.world) {
                let other = self.servers.first { $0.running != nil && $0.process !== link.serverProcess }
                if let other { phone.revoke(way, through: other) }
            }
        }
    }

    /// Revokes a wallet, loses this by a failover, and revokes another wallet; both revocations get the same number.
    func loseRevocation(_ first: Fault.Revocation, failOverAfter delay: Int64, _ next: Fault.Revocation) {
        self.database?.loseNextRevocation = (
            delay,
            { downUntil in
                // By then the servers have connected again and renewed their leases.
                self.scheduler.schedule(after: downUntil - self.scheduler.now + 3_000_000, in: self.world) {
                    let answers = Fault.Hindrance.unreadAnswers(nil)
                    self.revokeElsewhere(answers, seconds: next.seconds, after: next.after, next.way)
                }
            }
        )
        self.revokeElsewhere(.slowServer, seconds: first.seconds, after: first.after, first.way)
    }

    private func hinder(_ number: Int, _ link: Link, _ hindrance: Fault.Hindrance, seconds: Int) {
        let (server, process, duration) = (self.servers[number], link.serverProcess, Int64(seconds) * 1_000_000)
        self.observer.note("server \(number + 1)", "is hindered: \(hindrance)")
        switch hindrance {
        case .slowServer: server.isSlowUntil = self.scheduler.now + duration
        case .frozen(let jobs):
            let freeze = {
                self.observer.note("server \(number + 1)", "is frozen")
                process.freeze(for: duration)
                self.database?.processFreezes(process)
            }
            if let jobs { process.plan(after: jobs, freeze) } else { server.freezeBeforeAnswer = freeze }
        case .unreadAnswers(let outage):
            link.keepAnswers()
            self.scheduler.schedule(after: duration, in: self.world) { link.releaseAnswers() }
            guard let outage else { return }
            // By then the answer is in the machine's buffer.
            self.scheduler.schedule(after: 300_000, in: self.world) {
                self.database?.cut(number, seconds: seconds, blocksConnect: outage == .blockedConnect)
            }
        }
    }
}
