import Foundation
import HostSystem
import TestSupport
import Testing
import Vocabulary

@Suite("File locks")
struct FileLockTests {
    @Test("one holder at a time, by name, until it goes")
    func exclusive() throws {
        let folder = TemporaryFolder()
        let path = folder.file("lock")
        var lock: FileLock? = try FileLock(path)
        #expect(throws: LockError.heldBy(pid: ProcessInfo.processInfo.processIdentifier)) { try FileLock(path) }
        #expect(FileLock.holder(path) == ProcessInfo.processInfo.processIdentifier)
        withExtendedLifetime(lock) {}
        lock = nil
        lock = try FileLock(path)
        #expect(lock != nil)
    }

    @Test("the lock of a process that was killed is free")
    func killedHolder() async throws {
        let folder = TemporaryFolder()
        let path = folder.file("lock")
        await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String] in
            let lock = try FileLock(path)
            withExtendedLifetime(lock) { _ = kill(getpid(), SIGKILL) }
        }
        #expect(FileLock.holder(path) != ProcessInfo.processInfo.processIdentifier)
        let lock = try FileLock(path)
        #expect(FileLock.holder(path) == ProcessInfo.processInfo.processIdentifier)
        withExtendedLifetime(lock) {}
    }

    @Test("a lock in a folder that is not there names the file")
    func missingFolder() throws {
        let folder = TemporaryFolder()
        let path = folder.file("missing/lock")
        #expect(throws: LockError.file(.notFound(path))) { try FileLock(path) }
    }
}

@Suite("The system's clock")
struct SystemClockTests {
    @Test("starts at the wall clock and never goes back")
    func forward() {
        let before = Int64(Date().timeIntervalSince1970 * 1000)
        let clock = SystemClock()
        let readings = (0..<1000).map { _ in clock.now() }
        #expect(readings.first.map { $0.milliseconds >= before } == true)
        #expect(readings == readings.sorted())
    }
}
