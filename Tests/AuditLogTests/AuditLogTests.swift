import Foundation
import HostSystem
import TestSupport
import Testing
import Vault
import Vocabulary

@testable import AuditLog

@Suite("The audit log")
struct AuditLogTests {
    @Test("appended entries are read back in order with only the file and the vault")
    func readBack() async throws {
        let log = try await LogUnderTest()
        _ = try await log.filled()
        var entries: [AuditEntry] = []
        let found = try await AuditReader(log.path, vault: KeyFileVault(log.keyFile)).verify { entries.append($0) }
        #expect(found.problem == nil && found.tornBefore.isEmpty)
        #expect(entries.map(\.number) == [1, 2, 3, 4, 5, 6])
        #expect(entries.map(\.record.event.rawValue).suffix(2) == ["revoke recovery-code", "status"])
        #expect(entries[1].record.subject.wallets == LogUnderTest.wallets)
        #expect(entries[1].record.phase == .begun && entries[1].record.actor.rawValue == "uid 1000 (alice)")
        #expect(entries[2].record.phase == .done(of: 2, result: "4 revoked"))
        #expect(entries[2].record.at - entries[1].record.at == .seconds(1))
        #expect(entries[4].record.phase == .failed(of: nil, reason: "\"why\"\n"))
        #expect(entries[4].record.subject.recoveryCode == LogUnderTest.codeMAC)
        #expect(entries[5].record.detail == "é")
        #expect(found.newest == log.marks.last)
    }

    @Test("the next process records a killed process's open entries as unclear, once")
    func unended() async throws {
        let log = try await LogUnderTest()
        _ = try await log.filled()
        let killed = try await log.open()
        let before = try await killed.endUnended()
        let cut = try await killed.append(.revokeSolution, by: .user(7, name: nil), .begun)
        await killed.close()
        let next = try await log.open()
        #expect(try await next.endUnended() == 1)
        #expect(try await next.endUnended() == 0)
        await next.close()
        var entries: [AuditEntry] = []
        _ = try await AuditReader(log.path, vault: KeyFileVault(log.keyFile)).verify { entries.append($0) }
        guard case .unclear(cut.number, _)? = entries.last?.record.phase else {
            Issue.record("\(entries.suffix(2)), \(before)")
            return
        }
        #expect(entries.last?.record.actor == .server && entries.last?.record.event == .revokeSolution)
    }

    @Test("a change of any single byte to any value is detected")
    func changedByte() async throws {
        let log = try await LogUnderTest()
        let bytes = try await log.filled()
        let newest = try #require(log.marks.last)
        var missed: [Int] = []
        for index in bytes.indices {
            await Task.yield()
            for mask in [0x01, 0x20, 0x80] as [UInt8] {
                var changed = bytes
                changed[index] ^= mask
                try log.write(changed)
                if try await log.verify().problem == nil { missed.append(index) }
            }
            var newline = bytes
            newline[index] = 0x0A
            if newline != bytes {
                try log.write(newline)
                if try await log.verify().problem == nil { missed.append(index) }
            }
        }
        #expect(missed.isEmpty, "missed at \(missed)")
        try log.write(bytes)
        #expect(try await log.verify(last: newest).problem == nil)
    }

    @Test("removed, swapped, repeated and inserted entries are detected")
    func misplaced() async throws {
        let log = try await LogUnderTest()
        let lines = LogUnderTest.lines(try await log.filled())
        for index in lines.indices {
            var removed = lines
            removed.remove(at: index)
            var repeated = lines
            repeated.insert(lines[index], at: index)
            var wrong = [removed, repeated]
            for other in lines.indices where other > index {
                var swapped = lines
                swapped.swapAt(index, other)
                var copied = lines
                copied[index] = lines[other]
                wrong += [swapped, copied]
            }
            for lines in wrong where lines.count != 5 || index != 5 {
                try log.write(Array(lines.joined()))
                let problem = try await log.verify().problem
                guard case .misplaced = problem else {
                    Issue.record("entry \(index + 1): \(String(describing: problem))")
                    continue
                }
            }
        }
    }

    @Test("a cut at any byte is detected by comparison with the log stream", arguments: [true, false])
    func cut(whole: Bool) async throws {
        let log = try await LogUnderTest()
        let bytes = try await log.filled()
        let newest = try #require(log.marks.last)
        let ends = bytes.indices.filter { bytes[$0] == 0x0A }.map { $0 + 1 }.dropLast()
        for length in whole ? Array(ends) : Array(stride(from: 1, to: bytes.count, by: 7)) {
            try log.write(Array(bytes.prefix(length)))
            #expect(try await log.verify(last: newest).problem != nil, "cut at \(length)")
        }
        try log.write([])
        #expect(try await log.verify().problem == .empty)
        try log.write(bytes)
        let other = AuditMark(number: 3, mac: newest.mac)
        #expect(try await log.verify(last: other).problem == .replaced(number: 3))
        let later = AuditMark(number: 9, mac: newest.mac)
        #expect(try await log.verify(last: later).problem == .cut(newest: 6, expected: 9))
        #expect(AuditMark("\(newest)") == newest && AuditMark("6:abc") == nil && AuditMark("0:\(newest.mac)") == nil)
    }

    @Test(
        "after a crash at any byte of the last entry, the log is torn and continues with an entry that says so"
    )
    func torn() async throws {
        let log = try await LogUnderTest()
        let bytes = try await log.filled()
        let last = LogUnderTest.lines(bytes)[5].count
        for kept in 1..<last {
            let torn = Array(bytes.dropLast(last - kept))
            try log.write(torn)
            guard case .tornTail(line: 6, after: 5, byteCount: kept) = try await log.verify().problem else {
                Issue.record("not torn at \(kept)")
                continue
            }
            let opened = try await log.open()
            #expect(opened.newest.number == 6)
            try await opened.append(.wipe, by: .wallet, .begun)
            await opened.close()
            var entries: [AuditEntry] = []
            let found = try await AuditReader(log.path, vault: log.vault).verify { entries.append($0) }
            #expect(found.problem == nil && found.tornBefore == [6], "\(kept): \(String(describing: found.problem))")
            #expect(entries.count == 7 && entries[5].record.event == .tornTail)
            // The torn bytes are kept.
            #expect(try log.bytes().starts(with: torn))
        }
    }

    @Test("a second crash, while the entry about a torn entry is written, loses nothing")
    func tornTwice() async throws {
        let log = try await LogUnderTest()
        let bytes = try await log.filled()
        let torn = Array(bytes.dropLast(20))
        try log.write(torn)
        try await log.open().close()
        let recorded = try log.bytes()
        for length in stride(from: torn.count + 1, to: recorded.count, by: 5) {
            try log.write(Array(recorded.prefix(length)))
            let opened = try await log.open()
            #expect(opened.newest.number == 6)
            await opened.close()
            let found = try await log.verify()
            #expect(found.problem == nil && found.tornBefore == [6])
        }
        // The remains are covered by the MAC of the entry that records them.
        for index in stride(from: bytes.count - 200, to: torn.count, by: 3) {
            var changed = recorded
            changed[index] ^= 1
            try log.write(changed)
            #expect(try await log.verify().problem != nil, "\(index)")
        }
        var without = recorded
        without.removeSubrange((bytes.count - LogUnderTest.lines(bytes)[5].count)...(torn.count + 1))
        try log.write(without)
        #expect(try await log.verify().problem != nil)
    }

    @Test("a log that was changed is not continued")
    func damaged() async throws {
        let log = try await LogUnderTest()
        let bytes = try await log.filled()
        for index in stride(from: 10, to: bytes.count - 600, by: 97) {
            var changed = bytes
            changed[index] ^= 1
            try log.write(changed)
            await #expect(throws: AuditLogError.self, "\(index)") { try await log.open() }
            #expect(try log.bytes() == changed)
        }
        try log.write([])
        await #expect(throws: AuditLogError.damaged(log.path, .empty)) { try await log.open() }
        await #expect(throws: AuditLogError.self) { try await log.create() }
    }

    @Test("entries of two servers' logs do not mix, even if the servers share a vault")
    func mixed() async throws {
        let first = try await LogUnderTest()
        let one = LogUnderTest.lines(try await first.filled())
        let stranger = LogUnderTest.lines(try await LogUnderTest().filled())
        let path = first.folder.file("second.log")
        var parts = first.parts
        parts.path = path
        try await AuditLog.create(parts)
        let second = try await AuditLog.open(parts)
        for _ in 0..<5 { try await second.append(.wipe, by: .wallet, .begun) }
        let sibling = LogUnderTest.lines(try DurableFile.read(path, atMost: 1 << 20))
        for other in [stranger, sibling] {
            for index in one.indices {
                var mixed = one
                mixed[index] = other[index]
                try first.write(Array(mixed.joined()))
                // If only the last entry is replaced, the chain is still valid but different; the log stream's
                // announcement reveals it.
                #expect(try await first.verify().problem != nil, "entry \(index + 1)")
                var inserted = one
                inserted.insert(other[index], at: index)
                try first.write(Array(inserted.joined()))
                #expect(try await first.verify().problem != nil, "entry \(index + 1)")
            }
        }
    }

    @Test("a log stays verifiable after rotations of the vault's keys, and is invalid under another vault")
    func rotated() async throws {
        let log = try await LogUnderTest()
        _ = try await log.filled()
        for _ in 0..<2 {
            _ = try await KeyFileVault(log.keyFile).addVersion(activating: true)
            try await log.vault.reload()
            let opened = try await log.open()
            try await opened.append(.wipe, by: .wallet, .begun)
            await opened.close()
        }
        #expect(try await log.verify().problem == nil)
        #expect(try await AuditReader(log.path, vault: KeyFileVault(log.keyFile)).verify().newest?.number == 8)
        let stranger = try await LogUnderTest()
        let found = try await AuditReader(log.path, vault: stranger.vault).verify()
        #expect(found.problem == .changed(line: 1, after: 0))
    }

    @Test("a log that a program converted as text is not taken for the remains of a crash, and the cause is named")
    func converted() async throws {
        let log = try await LogUnderTest()
        let lines = LogUnderTest.lines(try await log.filled())
        try log.write(Array(lines[..<3].joined()) + lines[3].dropLast() + [0x0D, 0x0A] + Array(lines[4...].joined()))
        let ends = try await log.verify().problem
        #expect(ends == .converted(line: 4, after: 3, .lineEnds) && "\(ends as Any)".contains("CR LF"))
        try log.write([0xEF, 0xBB, 0xBF] + Array(lines.joined()))
        #expect(try await log.verify().problem == .converted(line: 1, after: 0, .byteOrderMark))
        await #expect(throws: AuditLogError.damaged(log.path, .converted(line: 1, after: 0, .byteOrderMark))) {
            _ = try await log.open()
        }
    }

    @Test("many concurrent entries are all written, each once and in one chain")
    func together() async throws {
        let log = try await LogUnderTest()
        try await log.create()
        let opened = try await log.open()
        let marks = try await withThrowingTaskGroup(of: AuditMark.self) { group in
            for index in 0..<600 {
                group.addTask { try await opened.append(.wipe, by: .wallet, .begun, detail: "\(index)") }
            }
            return try await group.reduce(into: Set<AuditMark>()) { $0.insert($1) }
        }
        #expect(marks.count == 600)
        var details: Set<String> = []
        let found = try await AuditReader(log.path, vault: log.vault).verify { details.insert($0.record.detail ?? "") }
        #expect(found.problem == nil && found.newest?.number == 601 && details.count == 601)
        // One line of the log stream for each write, and far fewer writes than entries.
        #expect(log.marks.count < 300)
    }

    @Test(
        "opening a log rewrites its end unchanged: after a failed sync it may have been in memory only"
    )
    func renewed() async throws {
        let log = try await LogUnderTest()
        _ = try await log.filled()
        let before = try DurableFile.read(log.path, atMost: 1 << 20)
        let longAgo = Date(timeIntervalSince1970: 1_000_000)
        try FileManager.default.setAttributes([.modificationDate: longAgo], ofItemAtPath: log.path)
        try await log.open().close()
        #expect(try DurableFile.read(log.path, atMost: 1 << 20) == before)
        let written = try FileManager.default.attributesOfItem(atPath: log.path)[.modificationDate] as? Date
        #expect(try written.orThrow() > longAgo)
    }

    @Test("one process at a time appends to a log")
    func locked() async throws {
        let log = try await LogUnderTest()
        try await log.create()
        let first = try await log.open()
        await #expect(throws: AuditLogError.inUse(log.path)) { try await log.open() }
        #expect(first.newest.number == 1)
        await first.close()
        await #expect(throws: AuditLogError.closed) { try await first.append(.wipe, by: .wallet, .begun) }
        try await log.open().close()
    }

    @Test("a log that was cut under its server ends the process, with both lengths and the newest entry")
    func cutWhileOpen() async throws {
        let run = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let log = try await LogUnderTest()
            let whole = try await log.filled()
            var parts = log.parts
            parts.onFatal = { reason in
                FileHandle.standardError.write(Data("fatal: \(reason)".utf8))
                exit(79)
            }
            let opened = try await AuditLog.open(parts)
            FileHandle.standardError.write(Data("\(whole.count) newest \(opened.newest)\n".utf8))
            try FileHandle(forUpdating: URL(fileURLWithPath: log.path)).truncate(atOffset: 900)
            try await opened.append(.wipe, by: .wallet, .begun)
        }
        let output = String(decoding: run?.standardErrorContent ?? [], as: UTF8.self)
        let found = try #require(output.firstMatch(of: /(\d+) newest (\S+)\nfatal: (.*)/), "\(output)")
        #expect(found.3.contains("has 900 bytes, but \(found.1) were written"), "\(output)")
        #expect(found.3.contains("has entry \(found.2)"), "\(output)")
    }

    @Test(
        "an open entry can be ended on a full disk, also by the next process",
        .enabled(if: SmallDisk.isPermitted)
    )
    func roomForTheEnd() async throws {
        let log = try await LogUnderTest()
        let disk = try SmallDisk()
        let parts = log.parts(on: disk)
        try await AuditLog.create(parts)
        let opened = try await AuditLog.open(parts)
        // Longer than the free part of a page can be.
        let subject = AuditSubject(wallets: Array(repeating: LogUnderTest.wallets, count: 40).flatMap(\.self))
        var begun: [UInt64] = []
        for _ in 0..<8 {
            begun.append(try await opened.append(.revokeWallets, by: .server, on: subject, .begun).number)
        }
        disk.fill()
        await #expect(throws: AuditLogError.self) {
            try await opened.append(.revokeWallets, by: .server, on: subject, .begun)
        }
        for number in begun.dropLast() {
            try await opened.append(.revokeWallets, by: .server, on: subject, .done(of: number, result: "4 revoked"))
        }
        await opened.close()
        let next = try await AuditLog.open(parts)
        #expect(try await next.endUnended() == 1)
        #expect(try await AuditReader(parts.path, vault: log.vault).verify().problem == nil)
        await next.close()
    }

    @Test(
        "on a full disk entries that begin or only read are refused, and ends are still recorded",
        .enabled(if: SmallDisk.isPermitted)
    )
    func endsBesideOthers() async throws {
        let log = try await LogUnderTest()
        let disk = try SmallDisk()
        let parts = log.parts(on: disk)
        try await AuditLog.create(parts)
        let opened = try await AuditLog.open(parts)
        var begun: [UInt64] = []
        for _ in 0..<20 { begun.append(try await opened.append(.wipe, by: .wallet, .begun).number) }
        disk.fill()
        // Entries that reserve no room take none of the reserved room.
        for _ in 0..<200 {
            _ = try? await opened.append(
                .backup,
                by: .server,
                .done(of: nil, result: String(repeating: "x", count: 500))
            )
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in begun {
                group.addTask { try await opened.append(.wipe, by: .wallet, .done(of: number, result: "revoked")) }
                group.addTask { _ = try? await opened.append(.wipe, by: .wallet, .begun) }
            }
            try await group.waitForAll()
        }
        #expect(try await AuditReader(parts.path, vault: log.vault).verify().problem == nil)
    }

    @Test("a full disk refuses the entry and leaves the log unchanged", .enabled(if: SmallDisk.isPermitted))
    func fullDisk() async throws {
        let log = try await LogUnderTest()
        let disk = try SmallDisk()
        let parts = log.parts(on: disk)
        try await AuditLog.create(parts)
        let opened = try await AuditLog.open(parts)
        let subject = AuditSubject(wallets: LogUnderTest.wallets)
        disk.fill()
        var accepted: UInt64 = 1
        // The page that is allocated already takes a few.
        while (try? await opened.append(.wipe, by: .wallet, on: subject, .begun)) != nil { accepted += 1 }
        let refused = await #expect(throws: AuditLogError.self) {
            try await opened.append(.wipe, by: .wallet, on: subject, .begun)
        }
        guard case .file(.diskFull) = refused else {
            Issue.record("\(String(describing: refused))")
            return
        }
        let before = try await AuditReader(parts.path, vault: log.vault).verify()
        #expect(before.problem == nil && before.newest?.number == accepted)
        try disk.clear()
        #expect(try await opened.append(.wipe, by: .wallet, .begun).number == accepted + 1)
        #expect(try await AuditReader(parts.path, vault: log.vault).verify().problem == nil)
    }
}
