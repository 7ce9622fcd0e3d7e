import Foundation
import Secrets
import Statements
import Testing
import Vocabulary
import WalletFlows

@testable import WalletCore

@Suite("The wallet's record of receipts")
struct ReceiptRecordTests {
    private let walletID = WalletID.random()
    private let now = Timestamp(milliseconds: 1_700_000_000_000)
    private let keys = (1...3).map { ReceiptSigningKey(id: $0, seed: .random(count: 48)) }

    /// The links to the key with this id.
    private func links(upTo id: Int = 1) throws -> [ReceiptKeyLink] {
        let first = try #require(ReceiptKeyLink(self.keys[0].key, endorsedBy: nil))
        return [first] + zip(self.keys, self.keys[1..<id]).compactMap { $0.link(to: $1.key) }
    }

    private func record() throws -> ReceiptRecord {
        ReceiptRecord(registeredWith: try self.links(), at: self.now)
    }

    private struct Verdict {
        var number: UInt64
        var outcome = AttemptLeaf.Outcome.wrong
        var wrongPINs = 0
        var epoch: UInt64 = 1
        var attemptID = AttemptID.random()
        var key = 0
    }

    private func receipt(_ verdict: Verdict) throws -> Receipt {
        let leaf = AttemptLeaf(
            outcome: verdict.outcome,
            wrongPINs: verdict.wrongPINs,
            walletID: self.walletID,
            attemptID: verdict.attemptID,
            number: verdict.number,
            lastWrong: nil
        )
        var server = FakeServer.State()
        server.epoch = verdict.epoch
        return try #require(server.receipt(leaf, by: self.keys[verdict.key]))
    }

    /// Takes the receipt of a message that was sent, after others that were not answered.
    private func take(
        _ verdict: Verdict,
        after unanswered: Int = 0,
        in record: inout ReceiptRecord,
        at now: Timestamp? = nil
    ) throws -> Tampering? {
        for _ in 0...unanswered { record.noteSend() }
        return self.answer(try self.receipt(verdict), verdict, in: &record, at: now)
    }

    private func answer(
        _ receipt: Receipt?,
        _ verdict: Verdict,
        in record: inout ReceiptRecord,
        at now: Timestamp? = nil
    ) -> Tampering? {
        let answered = ReceiptRecord.Answered(
            walletID: self.walletID,
            attemptID: verdict.attemptID,
            outcomes: verdict.outcome == .right ? [.right] : [.wrong, .notJudged]
        )
        return record.take(receipt, of: answered, at: now ?? self.now)
    }

    @Test("the wallet's own attempts, answered or not, explain every number")
    func explained() throws {
        var record = try self.record()
        #expect(try self.take(Verdict(number: 1), in: &record) == nil)
        #expect(try self.take(Verdict(number: 4), after: 2, in: &record) == nil, "two replies were lost")
        #expect(try self.take(Verdict(number: 5), after: 2, in: &record) == nil, "two messages never arrived")
        #expect(try self.take(Verdict(number: 5, outcome: .notJudged), in: &record) == nil)
        #expect(record.notice == nil)
    }

    @Test("a message that arrives after the receipt of a later one is explained, for an hour and once")
    func late() throws {
        var record = try self.record()
        #expect(try self.take(Verdict(number: 1), after: 1, in: &record) == nil)
        var other = record
        #expect(try self.take(Verdict(number: 3), in: &record) == nil)
        #expect(try self.take(Verdict(number: 5), in: &record) == .unexplainedAttempts)
        let later = self.now + ReceiptRecord.lateFor + ReceiptRecord.lateStep
        #expect(try self.take(Verdict(number: 3), in: &other, at: later) == .unexplainedAttempts)
    }

    @Test("each suppressed message has its own hour, which no later receipt extends")
    func ownHour() throws {
        func after(_ minutes: Int) -> Timestamp { self.now + .seconds(60 * minutes) }
        var record = try self.record()
        #expect(try self.take(Verdict(number: 1), after: 3, in: &record) == nil)
        for number in 2...6 {
            #expect(try self.take(Verdict(number: UInt64(number)), in: &record, at: after(10 * number)) == nil)
        }
        var thief = record
        #expect(try self.take(Verdict(number: 8), in: &thief, at: after(70)) == .unexplainedAttempts)
        // A message suppressed at 60 minutes is still explained after the hour of the first three.
        #expect(try self.take(Verdict(number: 7), after: 1, in: &record, at: after(60)) == nil)
        #expect(try self.take(Verdict(number: 9), in: &record, at: after(115)) == nil)
        #expect(try self.take(Verdict(number: 11), in: &record, at: after(116)) == .unexplainedAttempts)
    }

    @Test("a late message is taken for the oldest, so that none that is genuine is shown")
    func oldestFirst() throws {
        func after(_ minutes: Int) -> Timestamp { self.now + .seconds(60 * minutes) }
        var record = try self.record()
        #expect(try self.take(Verdict(number: 1), after: 1, in: &record) == nil)
        #expect(try self.take(Verdict(number: 2), after: 1, in: &record, at: after(30)) == nil)
        #expect(try self.take(Verdict(number: 4), in: &record, at: after(31)) == nil)
        #expect(try self.take(Verdict(number: 6), in: &record, at: after(85)) == nil)
    }

    @Test("a clock that is set back gives suppressed messages no more than an hour")
    func clockBack() throws {
        var record = try self.record()
        #expect(try self.take(Verdict(number: 1), after: 1, in: &record) == nil)
        let day: Duration = .seconds(86_400)
        let before = Timestamp(milliseconds: self.now.milliseconds - day.milliseconds)
        #expect(try self.take(Verdict(number: 2), in: &record, at: before) == nil)
        #expect(try self.take(Verdict(number: 4), in: &record, at: before + .seconds(7200)) == .unexplainedAttempts)
    }

    @Test("the record of late messages stays small, however many are suppressed")
    func bounded() throws {
        var record = try self.record()
        for second in 0..<200 {
            let verdict = Verdict(number: UInt64(second + 1))
            #expect(try self.take(verdict, after: 1, in: &record, at: self.now + .seconds(60 * second)) == nil)
        }
        #expect(try JSONEncoder().encode(record).count < 2500)
    }

    @Test("counts of an edited file that no sum can hold crash nothing")
    func editedCounts() throws {
        var record = try self.record()
        #expect(try self.take(Verdict(number: 1), after: 2, in: &record) == nil)
        let text = String(decoding: try JSONEncoder().encode(record), as: UTF8.self)
        let edited = text.replacing(#/"(count|unanswered)":[0-9]+/#) { "\"\($0.output.1)\":\(UInt64.max)" }
        #expect(edited != text)
        record = try JSONDecoder().decode(ReceiptRecord.self, from: Data(edited.utf8))
        record.noteSend()
        #expect(self.hint(3, in: record) == nil)
        #expect(try self.take(Verdict(number: 2), after: 1, in: &record) == nil)
    }

    @Test("attempts that the wallet did not send are shown once, with the wrong PINs among them")
    func unexplained() throws {
        var record = try self.record()
        #expect(try self.take(Verdict(number: 1, outcome: .right), in: &record) == nil)
        let right = Verdict(number: 4, outcome: .right, wrongPINs: 2)
        #expect(try self.take(right, in: &record) == .unexplainedAttempts)
        #expect(record.notice?.wrongPINs == 2 && record.notice?.tampering == [.unexplainedAttempts])
        record.noteShown()
        #expect(record.notice == nil)
        #expect(try self.take(Verdict(number: 5, outcome: .right), in: &record) == nil)
        var fresh = try self.record()
        #expect(try self.take(Verdict(number: 2), in: &fresh) == .unexplainedAttempts, "before its first attempt")
    }

    private func hint(
        _ number: UInt64,
        epoch: UInt64 = 1,
        in record: ReceiptRecord,
        at now: Timestamp? = nil
    ) -> Tampering? {
        let counts = AttemptCounts(number: number, wrongPINs: 1, lastWrong: self.now, epoch: epoch)
        return record.hint(of: counts, at: now ?? self.now)?.finding
    }

    @Test("the counts of a session are compared like a receipt's, with the wallet's own messages explained")
    func hints() throws {
        var record = try self.record()
        #expect(self.hint(0, in: record) == nil)
        #expect(self.hint(1, in: record) == .unexplainedAttempts, "before the first attempt")
        record.noteSend()
        #expect(self.hint(1, in: record) == nil)
        #expect(try self.take(Verdict(number: 2), after: 1, in: &record) == nil)
        // The first take left two of the four messages without a count: they may arrive for an hour.
        #expect(self.hint(3, in: record) == nil)
        #expect(self.hint(4, in: record) == .unexplainedAttempts)
        let later = self.now + ReceiptRecord.lateFor + ReceiptRecord.lateStep
        #expect(self.hint(3, in: record, at: later) == .unexplainedAttempts)
        #expect(self.hint(1, in: record) == .numberBack)
        #expect(self.hint(2, epoch: 2, in: record) == nil)
        #expect(self.hint(1, epoch: 2, in: record) == nil, "the restored store is older")
        #expect(self.hint(2, epoch: 0, in: record) == .olderEpoch)
        #expect(self.hint(.max, in: record) == .unexplainedAttempts)
        // The receipt by a newer key waits, and so do the attempts that it answers.
        #expect(try self.take(Verdict(number: 4, key: 1), after: 1, in: &record) == nil)
        #expect(self.hint(5, in: record) == nil)
        #expect(self.hint(6, in: record) == .unexplainedAttempts)
        #expect(self.hint(9, in: ReceiptRecord()) == nil, "no key is pinned, so no number is known")
    }

    @Test("a number that does not grow is shown, unless nothing was judged")
    func numberBack() throws {
        var record = try self.record()
        #expect(try self.take(Verdict(number: 1), in: &record) == nil)
        #expect(try self.take(Verdict(number: 1), in: &record) == .numberBack)
        #expect(try self.take(Verdict(number: 0, outcome: .notJudged), in: &record) == .numberBack)
    }

    @Test("a change of epoch explains a step back, also when a restore is undone, and no gap; an older epoch nothing")
    func epochs() throws {
        var record = try self.record()
        #expect(try self.take(Verdict(number: 10), after: 9, in: &record) == nil)
        #expect(try self.take(Verdict(number: 6, epoch: 2), in: &record) == nil)
        #expect(try self.take(Verdict(number: 7, epoch: 2), in: &record) == nil)
        // The store of epoch 1, copied.
        #expect(try self.take(Verdict(number: 11, epoch: 3), in: &record) == nil)
        #expect(try self.take(Verdict(number: 13, epoch: 4), in: &record) == .unexplainedAttempts)
        #expect(try self.take(Verdict(number: 14, epoch: 3), in: &record) == .olderEpoch)
    }

    @Test("a forged receipt is shown, and its attempt may have been judged")
    func forged() throws {
        let verdict = Verdict(number: 1)
        let genuine = try self.receipt(verdict)
        var changed = genuine.bytes
        changed[43] ^= 1
        var sameID = FakeServer.State()
        sameID.receiptKeys = [ReceiptSigningKey(id: 1, seed: .random(count: 48))]
        let lies = [
            Receipt(changed), try self.receipt(Verdict(number: 1)), sameID.receipt(genuine.leaf),
            try self.receipt(Verdict(number: 1, outcome: .right, attemptID: verdict.attemptID)),
        ]
        for (index, lie) in lies.enumerated() {
            var record = try self.record()
            record.noteSend()
            #expect(self.answer(lie, verdict, in: &record) == .forgedReceipt, "\(index)")
            #expect(try self.take(Verdict(number: 2), in: &record) == nil)
        }
        var record = try self.record()
        record.noteSend()
        #expect(self.answer(nil, verdict, in: &record) == .missingReceipt)
        #expect(try self.take(Verdict(number: 2), in: &record) == nil)
        #expect(record.notice?.tampering == [.missingReceipt])
    }

    @Test("a receipt by a newer key waits for the session that introduces the key")
    func rotation() throws {
        var record = try self.record()
        #expect(try self.take(Verdict(number: 1), in: &record) == nil)
        #expect(try self.take(Verdict(number: 2, key: 1), in: &record) == nil)
        #expect(try self.take(Verdict(number: 4, key: 1), after: 1, in: &record) == nil)
        record.noteSend()
        var unsigned = record
        #expect(record.adopt(try self.links(upTo: 2), at: self.now) == nil)
        #expect(try self.take(Verdict(number: 6, key: 1), in: &record) == nil)
        #expect(try self.take(Verdict(number: 7, key: 0), in: &record) == .forgedReceipt, "by the old key")

        let foreign = try #require(self.keys[2].link(to: self.keys[1].key))
        #expect(unsigned.adopt([try self.links()[0], foreign], at: self.now) == .unknownKey)
        #expect(unsigned.adopt(try self.links(), at: self.now) == .forgedReceipt, "no key of the receipt follows")
    }

    @Test("a receipt that waited is verified with its own key, also if the keys were rotated twice in the meantime")
    func rotatedTwice() throws {
        var record = try self.record()
        #expect(try self.take(Verdict(number: 1, key: 1), in: &record) == nil)
        #expect(record.adopt(try self.links(upTo: 3), at: self.now) == nil)
        #expect(try self.take(Verdict(number: 2, key: 2), in: &record) == nil)
        #expect(try self.take(Verdict(number: 3, key: 1), in: &record) == .forgedReceipt, "by an older key")
    }

    @Test("a server that stops sending its keys is shown, since no receipt by a newer key could be verified")
    func noKeys() throws {
        var record = try self.record()
        #expect(record.adopt([], at: self.now) == .unknownKey)
        #expect(record.notice?.tampering == [.unknownKey])
    }

    @Test("a wallet without a pinned key pins one at its next session and takes any first number")
    func pinnedLater() throws {
        var record = ReceiptRecord()
        record.noteSend()
        #expect(self.answer(nil, Verdict(number: 0), in: &record) == nil, "nothing is pinned yet")
        #expect(record.adopt([], at: self.now) == nil)
        #expect(record.adopt(try self.links(), at: self.now) == nil)
        #expect(try self.take(Verdict(number: 70), in: &record) == nil)
        #expect(try self.take(Verdict(number: 72), in: &record) == .unexplainedAttempts)
        #expect(record.adopt(try self.links(), at: self.now) == nil)
        let other = try #require(ReceiptKeyLink(self.keys[1].key, endorsedBy: nil))
        #expect(record.adopt([other], at: self.now) == .unknownKey)
    }

    @Test("the facts of the last right PIN's time and of wrong PINs, also if the right one was judged twice")
    func facts() throws {
        var record = try self.record()
        for number in 1...2 {
            _ = try self.take(Verdict(number: UInt64(number), wrongPINs: number), in: &record)
        }
        _ = try self.take(Verdict(number: 4, outcome: .right), after: 1, in: &record)
        #expect(record.notice == AttemptNotice(wrongPINs: 2, since: self.now, tampering: []))
    }
}
