import Testing
import Vocabulary

@testable import PostgreSQLStore
@testable import WalletStore

@Suite("The leases that a server has observed, and the time of a step that waited")
struct LeaseStateTests {
    private func row(renewals: Int64, renewedAt: Int64) -> LeaseTable.Row {
        let server = LeasedServer(
            name: "b",
            instance: "b1",
            program: "1",
            schemaVersion: 1,
            vaultKeys: [],
            connections: 0,
            sessions: 0
        )
        return LeaseTable.Row(
            server: server,
            lasts: .seconds(6),
            renewals: renewals,
            acknowledged: 0,
            renewedAt: renewedAt
        )
    }

    @Test("a lease ends once it has not been renewed for its whole time since it was first seen so")
    func overdue() {
        var state = LeaseState(instance: "a1")
        #expect(state.overdue(in: [self.row(renewals: 2, renewedAt: 100)], at: .seconds(1)).isEmpty)
        #expect(state.overdue(in: [self.row(renewals: 2, renewedAt: 100)], at: .seconds(7)).isEmpty)
        #expect(state.overdue(in: [self.row(renewals: 2, renewedAt: 100)], at: .seconds(8)).count == 1)
    }

    @Test("a lease that its server took again does not count as the earlier one with as many renewals")
    func takenAgain() {
        var state = LeaseState(instance: "a1")
        #expect(state.overdue(in: [self.row(renewals: 2, renewedAt: 100)], at: .seconds(1)).isEmpty)
        #expect(state.overdue(in: [self.row(renewals: 2, renewedAt: 9000)], at: .seconds(9)).isEmpty)
        #expect(state.overdue(in: [self.row(renewals: 2, renewedAt: 9000)], at: .seconds(16)).count == 1)
    }

    @Test("a step that waited for long is judged at the time of its decision, not at the time of its call")
    func waitingStep() {
        let (called, began) = (Timestamp(milliseconds: 1_000_000), ContinuousClock.now)
        let late = JudgingStep.time(called, queuedAt: began, decidedAt: began + .seconds(65))
        #expect(late == called + .seconds(65))
        #expect(JudgingStep.time(called, queuedAt: began, decidedAt: began + .seconds(1)) == called)
    }
}
