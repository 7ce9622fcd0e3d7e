import LabFiles
import HostSystem
import Testing
import Vocabulary

/// A clock that a test moves.
private struct StandingClock: WallClock {
    func now() -> Timestamp { Timestamp(milliseconds: 1_000_000) }
}

/// A lab folder for one test.
private func temporaryLab() throws -> LabFolder {
    let lab = LabFolder("/tmp/remote-pin-lab-tests-\(UInt64.random(in: .min ... .max))/")
    try DurableFile.makeFolder(lab.path)
    return lab
}

@Suite("A lab's clock")
struct LabClockTests {
    @Test("the clock shows the system's time until it is moved, and stays moved after a restart")
    func kept() throws {
        let lab = try temporaryLab()
        let clock = try LabClock(file: lab.clockFile, system: StandingClock())
        #expect(clock.now() == Timestamp(milliseconds: 1_000_000))
        #expect(try clock.advance(by: .seconds(61)) == Timestamp(milliseconds: 1_061_000))
        let restarted = try LabClock(file: lab.clockFile, system: StandingClock())
        #expect(restarted.now() == Timestamp(milliseconds: 1_061_000))
        #expect(try restarted.advance(by: .milliseconds(1)) == Timestamp(milliseconds: 1_061_001))
    }

    @Test("a wallet sees the clock's move at its next reading, and never goes back with the file")
    func followed() throws {
        let lab = try temporaryLab()
        let wallet = try FollowedLabClock(file: lab.clockFile, system: StandingClock())
        let server = try LabClock(file: lab.clockFile, system: StandingClock())
        let moved = try server.advance(by: .seconds(300))
        #expect(wallet.now() == moved)
        try DurableFile.remove(lab.clockFile)
        #expect(wallet.now() == moved)
    }

    @Test("a file without a valid offset is rejected", arguments: ["", "-1", "soon", "99999999999999999999"])
    func refused(text: String) throws {
        let lab = try temporaryLab()
        try DurableFile.write(Array(text.utf8), to: lab.clockFile)
        #expect(throws: LabError.self) { try LabClock(file: lab.clockFile) }
    }
}

@Suite("A lab's folder")
struct LabFolderTests {
    @Test("lab.yaml is read back as it was written, with paths that move with the lab")
    func roundTrip() throws {
        let lab = try temporaryLab()
        #expect(!lab.isLab)
        let file = LabFile(
            host: "::1",
            port: 4711,
            serverName: "it's a lab",
            caFile: "\(lab.authorityFolder)/ca.pem",
            authority: lab.authorityFolder,
            clockFile: lab.clockFile,
            server: "/elsewhere/server"
        )
        try file.write(to: lab)
        #expect(lab.isLab)
        #expect(try LabFile(of: lab) == file)
        let moved = LabFolder(lab.path + "-moved")
        try DurableFile.makeFolder(moved.path)
        try DurableFile.write(DurableFile.read(lab.labFile, atMost: 4096), to: moved.labFile)
        #expect(try LabFile(of: moved).caFile == "\(moved.authorityFolder)/ca.pem")
    }

    @Test("the error for a missing entry of lab.yaml names the entry")
    func refused() throws {
        let lab = try temporaryLab()
        try DurableFile.write(Array("address: 127.0.0.1:1\n".utf8), to: lab.labFile)
        #expect(throws: LabError.notAsWritten(path: lab.labFile, what: "`server_name` is missing")) {
            try LabFile(of: lab)
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
