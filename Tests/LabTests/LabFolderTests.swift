import Dispatch
import LabFiles
import HostSystem
import Synchronization
import TestSupport
import Testing
import Vocabulary

/// A clock that a test moves.
private struct StandingClock: WallClock {
    func now() -> Timestamp { Timestamp(milliseconds: 1_000_000) }
}

@Suite("A lab's clock")
struct LabClockTests {
    private let folder = TemporaryFolder()
    private var lab: LabFolder { LabFolder(self.folder.path + "/") }

    @Test("the clock shows the system's time until it is moved, and stays moved after a restart")
    func kept() throws {
        let clock = try LabClock(file: self.lab.clockFile, system: StandingClock())
        #expect(clock.now() == Timestamp(milliseconds: 1_000_000))
        #expect(try clock.advance(by: .seconds(61)) == Timestamp(milliseconds: 1_061_000))
        let restarted = try LabClock(file: self.lab.clockFile, system: StandingClock())
        #expect(restarted.now() == Timestamp(milliseconds: 1_061_000))
        #expect(try restarted.advance(by: .milliseconds(1)) == Timestamp(milliseconds: 1_061_001))
    }

    @Test("a wallet sees the clock's move at its next reading, and never goes back with the file")
    func followed() throws {
        let wallet = try FollowedLabClock(file: self.lab.clockFile, system: StandingClock())
        let server = try LabClock(file: self.lab.clockFile, system: StandingClock())
        let moved = try server.advance(by: .seconds(300))
        #expect(wallet.now() == moved)
        try DurableFile.remove(self.lab.clockFile)
        #expect(wallet.now() == moved)
    }

    @Test("a file without a valid offset is rejected", arguments: ["", "-1", "soon", "99999999999999999999"])
    func refused(text: String) throws {
        try DurableFile.write(Array(text.utf8), to: self.lab.clockFile)
        #expect(throws: LabError.self) { try LabClock(file: self.lab.clockFile) }
    }
}

@Suite("A lab's folder")
struct LabFolderTests {
    private let folder = TemporaryFolder()
    private var lab: LabFolder { LabFolder(self.folder.path + "/") }

    @Test("lab.yaml is read back as it was written, with paths that move with the lab")
    func roundTrip() throws {
        #expect(!self.lab.isLab)
        let file = LabFile(
            host: "::1",
            port: 4711,
            serverName: "it's a lab",
            caFile: "\(self.lab.authorityFolder)/ca.pem",
            authority: self.lab.authorityFolder,
            clockFile: self.lab.clockFile,
            server: "/elsewhere/server"
        )
        try file.write(to: self.lab)
        #expect(self.lab.isLab)
        #expect(try LabFile(of: self.lab) == file)
        let moved = LabFolder(self.folder.file("moved"))
        try DurableFile.makeFolder(moved.path)
        try DurableFile.write(DurableFile.read(self.lab.labFile, atMost: 4096), to: moved.labFile)
        #expect(try LabFile(of: moved).caFile == "\(moved.authorityFolder)/ca.pem")
    }

    @Test("several servers of one lab write lab.yaml at the same time without an error")
    func racingWriters() throws {
        let lab = self.lab
        let errors = Mutex<[any Error]>([])
        DispatchQueue.concurrentPerform(iterations: 32) { number in
            let file = LabFile(
                host: "127.0.0.1",
                port: 1_000 + number,
                serverName: "localhost",
                caFile: "ca.pem",
                authority: "authority",
                clockFile: "clock",
                server: "server"
            )
            do { try file.write(to: lab) } catch { errors.withLock { $0.append(error) } }
        }
        #expect(errors.withLock { $0.isEmpty })
        #expect(try LabFile(of: lab).port >= 1_000)
    }

    @Test("the error for a missing entry of lab.yaml names the entry")
    func refused() throws {
        try DurableFile.write(Array("address: 127.0.0.1:1\n".utf8), to: self.lab.labFile)
        #expect(throws: LabError.notAsWritten(path: self.lab.labFile, what: "`server_name` is missing")) {
            try LabFile(of: self.lab)
        }
    }

    @Test("the socket's path is short enough for any location of the lab")
    func socket() {
        #expect(LabFolder("/tmp/lab").socketPath(runtimeFolder: nil) == "/tmp/lab/server/admin.sock")
        let deep = LabFolder("/" + String(repeating: "deep/", count: 40) + "lab")
        #expect(deep.socketPath(runtimeFolder: "/run/user/1000").hasPrefix("/run/user/1000/remote-pin-"))
        #expect(deep.socketPath(runtimeFolder: String(repeating: "/x", count: 60)).hasPrefix("/tmp/remote-pin-"))
        #expect(deep.socketPath(runtimeFolder: nil).utf8.count <= 99)
    }
}
