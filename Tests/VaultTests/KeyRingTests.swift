import Foundation
import Glibc
import Secrets
import Testing

@testable import Vault

@Suite("The keys in memory")
struct KeyRingTests {
    /// Whether a sanitizer replaces mlock(2) with a function that does nothing.
    private static let isSanitized = unsafe dlsym(nil, "__asan_init") != nil || dlsym(nil, "__tsan_init") != nil

    @Test("the pages of the keys stay out of swap space", .disabled(if: Self.isSanitized, "mlock(2) is replaced"))
    func locked() throws {
        guard let version = KeyVersion(number: 1, root: .random(count: 32)),
            let ring = KeyRing(versions: [version], active: 1, index: .random(count: 32), history: [])
        else {
            Issue.record("32 random bytes are a key")
            return
        }
        let status = try String(contentsOf: URL(fileURLWithPath: "/proc/self/status"), encoding: .utf8)
        let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmLck:") })
        let kilobytes = try #require(line.split(whereSeparator: \.isWhitespace).compactMap { Int($0) }.first)
        #expect(kilobytes > 0)
        #expect(ring.version(1) != nil)
    }
}
