import Glibc
import HostSystem
import LabFiles
import TestSupport
import Testing

@Suite("What a crash leaves")
struct CoreDumpTests {
    @Test("a crash of the server writes no core dump", arguments: [["serve"], ["lab", "up"]])
    func server(command: [String]) async throws {
        // The process inherits the highest permitted limit.
        var limit = rlimit()
        unsafe getrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &limit)
        limit.rlim_cur = limit.rlim_max
        unsafe setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &limit)
        let lab = try await LabUnderTest()
        let server = try await ServerProcess.start(
            command + [lab.lab.path],
            environment: LabUnderTest.sixteenAttempts
        )
        let text = String(
            decoding: try DurableFile.read("/proc/\(server.processID)/limits", atMost: 1 << 16),
            as: UTF8.self
        )
        let line = try #require(text.split(separator: "\n").first { $0.hasPrefix("Max core file size") })
        // proc(5): soft, hard, unit.
        let limits = line.split(separator: " ").suffix(3).prefix(2).compactMap { Int($0) }
        #expect(limits.count == 2 && limits.allSatisfy { $0 <= 1 }, "\(line)")
        #expect(await server.terminate() == 0)
    }
}
