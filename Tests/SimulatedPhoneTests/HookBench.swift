import FoundationEssentials
import HostSystem
import WalletFlows
import Secrets
import Synchronization
import Vocabulary

@testable import SimulatedPhone

/// A phone with shell programs as hooks.
final class HookBench: Sendable {
    let lab: LabBench
    let folder: String
    private let reports = Mutex<[String]>([])

    init() throws {
        self.lab = try LabBench()
        self.folder = self.lab.folder + "/hooks"
        try DurableFile.makeFolder(self.folder)
    }

    /// The messages to the user.
    var reported: [String] { self.reports.withLock { $0 } }

    /// Creates a program of these lines; `$FOLDER` in them is the bench's folder.
    func program(_ lines: String, within limit: Duration? = nil) throws -> HookCommand {
        let path = "\(self.folder)/hook-\(WalletID.random())"
        try DurableFile.write(Array("FOLDER='\(self.folder)'\n\(lines)\n".utf8), to: path)
        return HookCommand("sh '\(path)'", timeLimit: limit)
    }

    func hooks(
        biometric: HookCommand? = nil,
        key: HookCommand? = nil,
        issuer: HookCommand? = nil
    ) -> DeviceHooks {
        DeviceHooks(biometric: biometric, key: key, issuer: issuer) { text in self.reports.withLock { $0.append(text) }
        }
    }

    func phone(_ platform: Platform = .android, _ change: (inout DeviceProfile) -> Void = { _ in }) throws
        -> SimulatedDevice
    {
        var profile = DeviceProfile(platform)
        profile.biometrics = .fingerprint
        profile.sensor = .cancel
        change(&profile)
        return try self.lab.device(profile)
    }

    /// The contents of a file that a program wrote; nil if it does not exist.
    func text(_ name: String) -> String? {
        guard let bytes = try? DurableFile.read("\(self.folder)/\(name)", atMost: 1 << 20) else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }

    func write(_ text: String, to name: String) throws {
        try DurableFile.write(Array(text.utf8), to: "\(self.folder)/\(name)")
    }
}
