import AdminProtocol
import AuditLog
import RemotePINServer
import ServerTestSupport
import Synchronization
import TestSupport
import Testing
import Transport

@testable import Administration

@Suite("Entries about refused commands")
struct RefusedCommandsTests {
    /// A time that moves only while a test lets waiting tasks go on.
    private final class HeldTime: Sendable {
        private struct State {
            var now = ContinuousClock.Instant.now
            var waiting: [CheckedContinuation<Void, Never>] = []
        }

        private let state = Mutex(State())

        var time: PassingTime {
            var time = PassingTime()
            time.now = { self.state.withLock(\.now) }
            time.sleepUntil = { end in
                await withCheckedContinuation { waiter in
                    self.state.withLock { state in
                        state.waiting.append(waiter)
                        // Later tasks see the time at which this one goes on.
                        state.now = max(state.now, end)
                    }
                }
            }
            return time
        }

        var waitingCount: Int { self.state.withLock { $0.waiting.count } }

        func goOn() {
            let waiting = self.state.withLock { state in
                defer { state.waiting = [] }
                return state.waiting
            }
            for waiter in waiting { waiter.resume() }
        }
    }

    @Test("one user's refusals share one entry a second, which counts and names them; another user's do not wait")
    func shared() async throws {
        let roles = AdminRoles(groups: [.security: 703], owner: 600)
        try await InProcessServer.run { server in
            let held = HeldTime()
            let service = AdminService(
                of: server.server,
                advance: nil,
                operations: server.commands.operations,
                roles: roles,
                time: held.time
            )
            let (mallory, eve) = (LocalPeer(userID: 4712, processID: 1), LocalPeer(userID: 4713, processID: 2))
            let before = try await server.record().count
            #expect(await RolesTests.refusal(of: ShowStatus(), by: mallory, in: service)?.kind == .notAllowed)
            #expect(try await server.record().count == before + 1)
            await withTaskGroup(of: Void.self) { group in
                for number in 0..<40 {
                    group.addTask {
                        let refusal =
                            number % 2 == 0
                            ? await RolesTests.refusal(of: ShowStatus(), by: mallory, in: service)
                            : await RolesTests.refusal(of: ListFlags(), by: mallory, in: service)
                        #expect(refusal?.message.contains("no role") == true)
                    }
                }
                #expect(await eventually { held.waitingCount == 1 && service.refused.waitingCount(of: 4712) == 40 })
                #expect((try? await server.record().count) == before + 1, "none is answered before it is on record")
                #expect(await RolesTests.refusal(of: ShowStatus(), by: eve, in: service)?.kind == .notAllowed)
                #expect((try? await server.record().count) == before + 2)
                held.goOn()
                await group.waitForAll()
            }
            let entries = try await server.record().dropFirst(before + 2)
            guard entries.count == 1, case .failed(of: nil, let reason)? = entries.first?.phase else {
                Issue.record("\(entries)")
                return
            }
            #expect(entries.first?.actor.rawValue.hasPrefix("uid 4712") == true)
            #expect(reason.contains("39 more commands of this user were refused: flags list, status"), "\(reason)")
        }
    }
}
