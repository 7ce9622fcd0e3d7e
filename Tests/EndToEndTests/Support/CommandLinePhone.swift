import SimulatedPhone
import LabFiles
import HostSystem
import TestSupport
import Testing
import Transport
import Vocabulary
import Wire

/// A simulated phone used through the wallet program.
struct CommandLinePhone: Sendable {
    let home: String
    let lab: LabUnderTest

    init(in lab: LabUnderTest, _ name: String = "phone") {
        self.lab = lab
        self.home = "\(lab.folder)/\(name)"
    }

    /// Runs a command with `pins` passed in a file; `at` replaces the folder of the lab.
    func run(_ command: String, _ arguments: String..., pins: [String] = [], at lab: String? = nil) async throws
        -> ProgramRun
    {
        var all = [command, "--home", self.home, "--lab", lab ?? self.lab.lab.path, "--json"] + arguments
        if !pins.isEmpty {
            let file = "\(self.home).pins"
            try DurableFile.write(Array(pins.map { "\($0)\n" }.joined().utf8), to: file)
            all += ["--pin-file", file]
        }
        return try await ServerProcess.run("wallet", all)
    }

    /// Sets up a wallet with this PIN.
    func setUp(pin: String) async throws {
        let run = try await self.run("setup", "--code-written-down", pins: [pin])
        try #require(run.exitCode == 0, "\(run.output)")
    }

    /// All files in a folder of the home, with their contents.
    func files(_ folder: String = "app") throws -> [String: [UInt8]] {
        let path = "\(self.home)/\(folder)"
        var files: [String: [UInt8]] = [:]
        for name in try DurableFile.names(in: path) {
            files[name] = try DurableFile.read("\(path)/\(name)", atMost: 1 << 22)
        }
        return files
    }

    /// The files without the cached server state, which every reply may rewrite.
    func ownFiles() throws -> [String: [UInt8]] {
        try self.files().filter { !["server-words.json", "receipts.json"].contains($0.key) }
    }

    /// The stored ids of the wallet and of its last known current PIN key.
    func registration() throws -> (walletID: WalletID, pinKeyID: PINKeyID) {
        let state = try JSONValue(String(decoding: try self.files()["state.json"].orThrow(), as: UTF8.self))
        let registration = try state["registration"].orThrow()
        let walletID = try WalletID(hex: try registration["walletID"]?.string.orThrow() ?? "").orThrow()
        let pair = try registration["pairs"]?.array.first.orThrow()
        return (walletID, try PINKeyID(hex: try pair?["id"]?.string.orThrow() ?? "").orThrow())
    }

    /// Opens a session at the real server with the phone's hardware key.
    func opening() async throws -> SessionOpening {
        let server = try self.lab.server
        let device = try SimulatedDevice(
            folder: "\(self.home)/device",
            authorityFolder: server.authorityFolder,
            clock: server.clock
        )
        let connection = try await server.greet(device.platform)
        defer { connection.close() }
        let call = try await TestWallet.sessionCall(of: device, try self.registration().walletID, on: connection)
        let result = try await connection.call(.openSession(call), timeout: TestWallet.patience)
        guard case .openSession(let opening) = result else { throw UnexpectedAnswer(result) }
        return opening
    }

    /// The number of failed attempts that the server has counted.
    func counted() async throws -> Int {
        guard case .active(let wallet) = try await self.opening(),
            case .open(let left, finalRound: true) = wallet.pinState
        else { throw UnexpectedAnswer() }
        return GuessingWallet.allowance - left
    }
}
