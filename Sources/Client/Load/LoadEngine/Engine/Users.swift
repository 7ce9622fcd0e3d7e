internal import LoadPlan
internal import Synchronization

/// Starts users as the plan wants them, and waits for all of them at its end.
final class Users: Sendable {
    /// How often the plan is asked how many there are to be.
    private static let step: Duration = .milliseconds(50)
    /// How long a run that is ended early waits for the answers that are under way.
    private static let grace: Duration = .seconds(1)

    private let run: RunContext
    private let clock: RunClock
    private let places: Mutex<[Place]>

    /// What is known of a number that users may have.
    private struct Place {
        var isTaken = false
        /// How many had it.
        var lives = 0
    }

    init(_ run: RunContext, clock: RunClock) {
        self.run = run
        self.clock = clock
        let most = run.plan.isOpen ? run.plan.openConnections : Int(run.plan.stages.peak.rounded(.up))
        self.places = Mutex(Array(repeating: Place(), count: most))
    }

    /// Returns when the last user has ended.
    func run(starting opened: [OpenedSession]) async {
        await withTaskGroup(of: Bool.self) { group in
            group.addTask {
                await self.follow(opened)
                return true
            }
            group.addTask {
                await self.run.events.ends()
                self.run.gauges.stop()
                await self.clock.sleep(until: self.clock.now + Self.grace)
                return false
            }
            _ = await group.next()
            group.cancelAll()
            await group.waitForAll()
        }
    }

    private func follow(_ opened: [OpenedSession]) async {
        var opened = opened
        let end = self.run.schedule.duration
        await withDiscardingTaskGroup { users in
            while !self.run.gauges.isStopping, !Task.isCancelled {
                let now = self.clock.now
                guard now < end else { break }
                let wanted = self.run.usersWanted(at: now)
                self.run.gauges.wanted.store(wanted, ordering: .relaxed)
                for (number, life) in self.toStart(below: wanted) {
                    let session = opened.isEmpty ? nil : opened.removeLast()
                    users.addTask {
                        await VirtualUser(number, life: life, in: self.run, clock: self.clock, opened: session).work()
                        self.places.withLock { $0[number].isTaken = false }
                    }
                }
                await self.clock.sleep(until: min(end, now + Self.step))
            }
            for session in opened { try? session.close(in: self.run, clock: self.clock) }
            // In an open loop what has become due is still sent; the users end when there is no more.
            if self.run.queue == nil { self.run.gauges.stop() } else { await self.drain() }
        }
        if self.run.events.endReason == nil, self.run.events.mayHaveCrashed {
            await FinalCheck(run: self.run, clock: self.clock).take()
        }
    }

    /// Gives what waits as long as a call may take, then no longer.
    private func drain() async {
        let end = self.run.schedule.duration + self.run.plan.timeout
        while !self.run.gauges.isStopping, !Task.isCancelled, self.clock.now < end {
            guard let queue = self.run.queue, !queue.isIdle(at: self.clock.now) else { break }
            await self.clock.sleep(until: self.clock.now + Self.step)
        }
        self.run.gauges.stop()
    }

    private func toStart(below wanted: Int) -> [(number: Int, life: Int)] {
        self.places.withLock { places in
            let numbers = (0..<min(wanted, places.count)).filter { !places[$0].isTaken }
            return numbers.map { number in
                defer { places[number] = Place(isTaken: true, lives: places[number].lives + 1) }
                return (number, places[number].lives)
            }
        }
    }
}
