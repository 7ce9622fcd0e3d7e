import AttestationVerifier
import Evidence
import Foundation
import Testing
import Vocabulary

@testable import remote_pin_lab

/// The peak memory of a verification, measured in a separate process.
///
/// The kernel's high-water mark of resident memory is reset before each measurement. Each piece of evidence has
/// a separate process, so that memory retained by the allocator from an earlier one is not reused without being
/// counted.
private enum Memory {
    static let limit = 4 * 1024 * 1024

    /// A sanitizer reserves terabytes of addresses for its own data, which the measurement would include.
    static var isMeasurable: Bool {
        guard let kilobytes = try? Self.field("VmSize:") else { return false }
        return kilobytes < 1 << 30
    }

    /// The number of bytes by which resident memory rose above its start while `body` ran.
    static func peak(of body: () -> Void) throws -> Int {
        try Data("5".utf8).write(to: URL(filePath: "/proc/self/clear_refs"))
        let before = try Self.field("VmRSS:")
        body()
        return try (Self.field("VmHWM:") - before) * 1024
    }

    private static func field(_ name: String) throws -> Int {
        let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        let line = status.split(separator: "\n").first { $0.hasPrefix(name) }
        return try #require(line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Int($0) })
    }
}

/// Evidence of the largest accepted size, made to use much memory.
private enum Hostile {
    private static let room = EvidenceLimits.byteCount

    /// A SEQUENCE of many values of two bytes.
    private static func sequence(of value: [UInt8], byteCount: Int) -> [UInt8] {
        let count = (byteCount - 4) / value.count * value.count
        return [0x30, 0x82, UInt8(count >> 8), UInt8(count & 0xFF)]
            + Array(repeating: value, count: count / value.count).flatMap { $0 }
    }

    static let chains: [[[UInt8]]] = [
        [Self.sequence(of: [0x05, 0x00], byteCount: Self.room)],
        [Self.sequence(of: [0x30, 0x00], byteCount: Self.room)],
        [Array(repeating: [0x30, 0x80], count: Self.room / 2).flatMap { $0 }],
        [[0x30, 0x84, 0x7F, 0xFF, 0xFF, 0xFF]],
        Array(repeating: Self.sequence(of: [0x05, 0x00], byteCount: Self.room / 10), count: 10),
    ]

    static let objects: [[UInt8]] = [
        [0x9A, 0x04, 0x00, 0x00, 0x00], [0xBB, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF],
        [0x5B, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF],
        [0x99, 0x7F, 0xF0] + Array(repeating: 0x00, count: 0x7FF0),
        [0x99, 0x7F, 0xF0] + Array(repeating: 0x80, count: 0x7FF0), Array(repeating: 0x81, count: Self.room),
    ]

    /// A valid chain except for a description with thousands of unknown tags.
    static func description() -> [[UInt8]] {
        var item = AndroidCase()
        for tag in 1000..<4500 { item.hardware[UInt(tag)] = .unknown([0x05, 0x00]) }
        return item.chain
    }
}

@Suite("The memory of a verification", .enabled(if: Memory.isMeasurable))
struct MemoryTests {
    @Test("no hostile chain makes the verifier hold more than 4 MiB", arguments: 0..<6)
    func chains(index: Int) async {
        await #expect(processExitsWith: .success) { [index] in
            let item = AndroidCase()
            #expect(item.refusal() == nil)
            let chain = (Hostile.chains + [Hostile.description()])[index]
            let peak = try Memory.peak { _ = item.refusal(of: chain) }
            #expect(peak <= Memory.limit, "\(peak) bytes")
        }
    }

    @Test("no hostile object makes the verifier hold more than 4 MiB", arguments: 0..<6)
    func objects(index: Int) async {
        await #expect(processExitsWith: .success) { [index] in
            #expect(AndroidCase().refusal() == nil)
            let object = Hostile.objects[index]
            let verifier = AppleVerifier(policy: ApplePolicy(apps: [AppleApp(id: "x")]), anchors: TrustAnchor.apple)
            let peak = try Memory.peak {
                var verification = Verification()
                _ = try? verifier.verify(
                    object: object,
                    keyID: [],
                    clientDataHash: [],
                    at: AndroidCase.now,
                    verification: &verification
                )
            }
            #expect(peak <= Memory.limit, "\(peak) bytes")
        }
    }

    @Test("all evidence of real phones, in sequence, stays within that limit", .enabled(if: Vectors.manifest != nil))
    func vectors() async {
        await #expect(processExitsWith: .success) {
            let manifest = try #require(Vectors.manifest)
            // Without this, code that is read from its file for the first time would be counted too.
            for index in [manifest.ids.indices.first, manifest.ids.indices.last] {
                if let index { _ = manifest.judge(index, reading: Vectors.read) }
            }
            let peak = try Memory.peak {
                for index in manifest.ids.indices { _ = manifest.judge(index, reading: Vectors.read) }
            }
            // Includes the facts for the comparison, and the memory that the allocator retains between cases.
            #expect(peak <= Memory.limit, "\(peak) bytes")
        }
    }
}
