import StoreMaintenance
import Testing
import Vocabulary

@testable import AuditLog

@Suite("Backups on record")
struct BackupHistoryTests {
    @Test("a backup counts when it is complete, not when a running server began it, and a failure until the next one")
    func history() {
        var history = BackupHistory()
        func read(_ hour: Int, _ phase: AuditPhase, _ event: AuditEvent = .backup) {
            let at = Timestamp(milliseconds: Int64(hour) * 3_600_000)
            let record = AuditRecord(at: at, epoch: 1, actor: .server, event: event, phase: phase)
            history.read(AuditEntry(number: UInt64(hour), record: record))
        }
        func hour(_ time: Timestamp?) -> Int64? { time.map { $0.milliseconds / 3_600_000 } }
        read(1, .begun)
        read(2, .done(of: 1, result: "begun"))
        #expect(history.lastMade == nil)
        read(3, .done(of: nil, result: "4096 bytes, epoch 1"))
        #expect(hour(history.lastMade) == 3)
        read(4, .begun)
        read(5, .done(of: 4, result: "begun"))
        read(6, .failed(of: nil, reason: "no space"))
        #expect(hour(history.lastMade) == 3 && history.failure?.reason == "no space")
        read(7, .done(of: nil, result: "deleted"), .purge)
        #expect(hour(history.lastMade) == 3 && hour(history.failure?.at) == 6)
        read(8, .done(of: nil, result: "4096 bytes, epoch 1"))
        #expect(hour(history.lastMade) == 8 && history.failure == nil)
    }
}
