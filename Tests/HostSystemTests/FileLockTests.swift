import Foundation
import HostSystem
import TestSupport
import Testing
import Vocabulary

@Suite("File locks")
struct FileLockTests {
    @Test("one process holds the lock, by name, until it releases it")
    func exclusive() throws {
        let folder = TemporaryFolder()
        let path = folder.file("lock")
        var lock: FileLock? = try FileLock(path)
        #expect(throws: LockError.heldBy(pid: ProcessInfo.processInfo.processIdentifier)) { try FileLock(path) }
        #expect(FileLock.holder(path) == ProcessInfo.processInfo.processIdentifier)
        #expect(FileLock.currentHolder(path) == ProcessInfo.processInfo.processIdentifier)
        withExtendedLifetime(lock) {}
        lock = nil
        #expect(FileLock.currentHolder(path) == nil)
        lock = try FileLock(path)
        #expect(lock != nil)
    }

    @Test("the lock of a killed process is free")
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

    @Test("the error for a lock in a missing folder names the file")
    func missingFolder() throws {
        let folder = TemporaryFolder()
        let path = folder.file("missing/lock")
        #expect(throws: LockError.file(.notFound(path))) { try FileLock(path) }
    }
}

@Suite("The system's clock")
struct SystemClockTests {
    @Test("the clock starts at the wall clock and never goes back")
    func forward() {
        let before = Int64(Date().timeIntervalSince1970 * 1000)
        let clock = SystemClock()
        let readings = (0..<1000).map { _ in clock.now() }
        #expect(readings.first.map { $0.milliseconds >= before } == true)
        #expect(readings == readings.sorted())
    }
}
