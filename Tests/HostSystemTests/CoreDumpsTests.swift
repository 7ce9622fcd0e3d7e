import Glibc
import HostSystem
import Testing

@Suite("Copies of the memory")
struct CoreDumpsTests {
    @Test("a program that forbids them leaves no core dump and cannot be traced by others")
    func forbid() async {
        await #expect(processExitsWith: .success) {
            precondition(CoreDumps.othersMayReadMemory)
            CoreDumps.forbid()
            var limit = rlimit()
            unsafe getrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &limit)
            precondition(!CoreDumps.othersMayReadMemory && limit.rlim_max <= 1)
        }
    }
}
