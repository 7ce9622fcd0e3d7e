internal import HostSystem
internal import LabFiles
package import Vocabulary
package import WalletCore
package import WalletFlows

/// A wallet's server, trust, language and rules for locking, read from a lab or the home's wallet.yaml.
package struct WalletSettings: Sendable {
    package var server: TLSDialer.Server
    /// The folder of the authority that attests simulated devices, or nil if they cannot be attested.
    package var authorityFolder: String?
    /// The file that contains the offset of a lab's clock, or nil to use the system time.
    package var clockFile: String?
    package var wording = Wording()
    /// The base address of the wallet's links, or nil for the default.
    package var linkBase: String?
    package var lockTimes = LockTimes()
    /// Whether the fallback mode requires the PIN once after a biometric was enrolled.
    package var pinAfterEnrollment = false
    /// Whether the phone's prompt confirms the host's actions in the safe biometric mode.
    package var confirmsWithPrompt = false

    package init(server: TLSDialer.Server) {
        self.server = server
    }

    /// Reads the server, trust, authority and clock from a lab.
    package init(lab: String) throws(PhoneError) {
        do {
            let file = try LabFile(of: LabFolder(Environment.absolute(lab)))
            self.server = TLSDialer.Server(
                host: file.host,
                port: file.port,
                name: file.serverName,
                trust: .authority(pem: try Self.contents(of: file.caFile))
            )
            self.authorityFolder = file.authority
            self.clockFile = file.clockFile
        } catch {
            throw PhoneError(error)
        }
    }

    /// Reads the home's wallet.yaml.
    ///
    /// If `lab` is given, it determines the server, trust, authority and clock.
    package init(home: PhoneHome, lab: String?) throws(PhoneError) {
        let file = try WalletFile(home.settingsFile)
        if let lab {
            self = try WalletSettings(lab: lab)
        } else {
            self.server = try file.server()
            self.authorityFolder = file[WalletFile.authority]
        }
        self.wording = file.wording
        self.linkBase = file[WalletFile.linkBase]
        self.lockTimes = file.lockTimes
        self.pinAfterEnrollment = file[WalletFile.pinAfterEnrollment]
        self.confirmsWithPrompt = file[WalletFile.confirmWithPrompt]
    }

    /// Returns the wallet's clock, either the lab's or the system's.
    package func clock() throws(PhoneError) -> any WallClock {
        guard let file = self.clockFile else { return SystemClock() }
        return try mapError(FollowedLabClock(file: file)) { (error: LabError) in
            PhoneError.storage("the lab's clock cannot be read: \(error)")
        }
    }

    static func contents(of path: String) throws(PhoneError) -> [UInt8] {
        try mapError(DurableFile.read(path, atMost: 1 << 20)) { (error: FileError) in PhoneError.usage("\(error)") }
    }
}
