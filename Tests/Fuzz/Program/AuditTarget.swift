@testable import AuditLog
internal import EmbeddedServer
internal import Foundation
internal import HostSystem
@testable import StoreMaintenance
internal import TestSupport
internal import Vault
internal import Vocabulary

/// An audit log with lines chosen by an attacker, which is read to verify it and to restore from it.
///
/// Each line that begins with a brace gets its place in the log and a MAC, so that its contents are read.
final class AuditTarget: FuzzTarget {
    private let queue = JobQueue()
    private let folder: String
    private let vault: KeyFileVault

    init(folder: String) throws {
        self.folder = folder
        try KeyFileVault.create(at: "\(folder)/vault.key")
        self.vault = try self.queue.result { try await KeyFileVault("\(folder)/vault.key") }
    }

    func run(_ input: [UInt8]) {
        let (path, vault) = ("\(self.folder)/audit.log", self.vault)
        self.queue.value {
            let (log, marks) = await Self.log(of: input, by: vault)
            do throws(FileError) {
                try DurableFile.write(log, to: path)
            } catch {
                fatalError("\(path) cannot be written: \(error)")
            }
            let verification = try? await AuditReader(path, vault: vault).verify(last: marks.last)
            require(verification?.problem != nil || verification?.newest == marks.last, "an entry is lost")
            _ = try? await ReadLog(at: path, since: marks.first, vault: vault)
            _ = AuditLog.newestTime(at: path)
        }
    }

    private static func log(of input: [UInt8], by vault: KeyFileVault) async -> (log: [UInt8], marks: [AuditMark]) {
        var (log, marks): ([UInt8], [AuditMark]) = ([], [])
        for line in input.split(separator: 0x0A) {
            guard line.first == UInt8(ascii: "{") else {
                log += line + [0x0A]
                continue
            }
            let body = line.dropFirst().dropLast(line.last == UInt8(ascii: "}") ? 1 : 0)
            let message = AuditLine.beginning(after: marks.last, torn: []) + body
            let mac = vault.mac(message, for: .auditLog)
            marks.append(AuditMark(number: UInt64(marks.count + 1), mac: AuditLine.mac(mac)))
            log += AuditLine.line(message, mac: AuditLine.mac(mac))
        }
        return (log, marks)
    }

    var words: [String] {
        [
            "\"actor\":", "\"event\":", "\"phase\":", "\"of\":", "\"result\":", "\"reason\":", "\"wallets\":[",
            "\"epoch\":",
            "\"time\":\"2026-11-25T10:00:00.000Z\"", "\"begun\"", "\"done\"", "\"failed\"", "\"unclear\"",
            "\"generation\":",
            "\"recoveryCodeMAC\":", "\"servers\":[", "\"detail\":", "\"restore\"", "\"revoke wallet\"", "\"started\"",
        ]
    }

    var seeds: [[UInt8]] {
        let time = #""time":"2026-11-25T10:00:00.000Z""#
        let wallet = String(repeating: "0a", count: 16)
        return [
            """
            {"actor":"server","epoch":1,"event":"log begun","phase":"done","result":"log 1",\(time)}
            {"actor":"uid 0","epoch":1,"event":"revoke wallet","phase":"begun",\(time),"wallets":["\(wallet)"]}
            {"actor":"uid 0","epoch":1,"event":"revoke wallet","of":2,"phase":"done","result":"1 revoked",\(time)}
            torn
            {"actor":"server","epoch":2,"event":"restore","of":9,"phase":"unclear","reason":"x",\(time)}
            """
        ].map { Array($0.utf8) }
    }
}
