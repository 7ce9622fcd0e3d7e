import Foundation
import Glibc
import Testing

@testable import Vault

@Suite("The keys in memory")
struct KeyRingTests {
    /// Whether a sanitizer replaces mlock(2) with a function that does nothing.
    private static let isSanitized = unsafe dlsym(nil, "__asan_init") != nil || dlsym(nil, "__tsan_init") != nil

    @Test("the pages of the keys stay out of swap space", .disabled(if: Self.isSanitized, "mlock(2) is replaced"))
    func locked() async throws {
        let lines = KeyFileLines(
            path: "",
            module: nil,
            index: .random(.index),
            versions: [.random(RootName(kind: .key, number: 1))],
            history: [.random(RootName(kind: .history, number: 1))],
            active: 1
        )
        let ring = try await KeyRing(lines)
        let status = try String(contentsOf: URL(fileURLWithPath: "/proc/self/status"), encoding: .utf8)
        let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmLck:") })
        let kilobytes = try #require(line.split(whereSeparator: \.isWhitespace).compactMap { Int($0) }.first)
        #expect(kilobytes > 0)
        #expect(ring.version(1) != nil)
    }
}
