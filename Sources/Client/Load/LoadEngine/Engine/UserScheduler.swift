internal import LoadPlan
internal import Synchronization

/// Starts users according to the plan and waits for all of them at the end.
final class UserScheduler: Sendable {
    /// The interval at which the number of users is updated from the plan.
    private static let step: Duration = .milliseconds(50)
    /// The maximum wait for outstanding responses if a run ends early.
    private static let grace: Duration = .seconds(1)

    private let run: RunContext
    private let slots: Mutex<[Slot]>

    /// The state for one user number.
    private struct Slot {
        var isTaken = false
        /// The number of users that have had this number.
        var lives = 0
    }

    init(_ run: RunContext) {
        self.run = run
        self.slots = Mutex(Array(repeating: Slot(), count: run.plan.peakUsers))
    }

    /// Returns once the last user has ended.
    func run(starting opened: [OpenedSession]) async {
        await withTaskGroup { group in
            group.addTask { await self.follow(opened) }
            group.addTask {
                await self.run.events.ends()
                self.run.gauges.stop()
                await self.run.clock.sleep(until: self.run.clock.now + Self.grace)
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
                let now = self.run.clock.now
                guard now < end else { break }
                let wanted = self.run.usersWanted(at: now)
                self.run.gauges.wanted.store(wanted, ordering: .relaxed)
                for (number, life) in self.takeSlots(below: wanted) {
                    let session = opened.isEmpty ? nil : opened.removeLast()
                    users.addTask {
                        await VirtualUser(number, life: life, in: self.run, opened: session).work()
                        self.slots.withLock { $0[number].isTaken = false }
                    }
                }
                await self.run.clock.sleep(until: min(end, now + Self.step))
            }
            for session in opened { try? session.close(in: self.run) }
            // In an open loop, checks that are already due are still sent. The users end when no checks are left.
            if self.run.queue == nil { self.run.gauges.stop() } else { await self.drain() }
        }
        if self.run.events.endReason == nil, self.run.events.mayHaveCrashed {
            await FinalCheck(run: self.run).run()
        }
    }

    /// Sends the waiting checks for as long as a single call may take.
    private func drain() async {
        let end = self.run.schedule.duration + self.run.plan.timeout
        while !self.run.gauges.isStopping, !Task.isCancelled, self.run.clock.now < end {
            guard let queue = self.run.queue, !queue.isIdle(at: self.run.clock.now) else { break }
            await self.run.clock.sleep(until: self.run.clock.now + Self.step)
        }
        self.run.gauges.stop()
    }

    private func takeSlots(below wanted: Int) -> [(number: Int, life: Int)] {
        self.slots.withLock { slots in
            let numbers = (0..<min(wanted, slots.count)).filter { !slots[$0].isTaken }
            return numbers.map { number in
                defer { slots[number] = Slot(isTaken: true, lives: slots[number].lives + 1) }
                return (number, slots[number].lives)
            }
        }
    }
}
