import Foundation
import HostSystem
import Testing

@Suite("Processors")
struct ProcessorsTests {
    @Test("the allowed processors are those of the thread's status in /proc")
    func allowed() throws {
        let status = try String(contentsOfFile: "/proc/thread-self/status", encoding: .utf8)
        let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("Cpus_allowed:") })
        let count = line.dropFirst("Cpus_allowed:".count).compactMap(\.hexDigitValue)
            .reduce(0) { $0 + $1.nonzeroBitCount }
        #expect(Processors.allowed == count)
    }
}
