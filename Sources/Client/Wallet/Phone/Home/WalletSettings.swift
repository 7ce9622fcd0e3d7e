internal import HostSystem
internal import LabFiles
package import Vocabulary
package import WalletCore
package import WalletFlows

/// Server, trust, language and lock times of a wallet: from a lab, or from the home's wallet.yaml.
package struct WalletSettings: Sendable {
    package var server: TLSDialer.Server
    /// The folder of the authority that attests simulated devices; nil if they cannot be attested.
    package var authorityFolder: String?
    /// The file with the offset of a lab's clock; nil for the time of the system.
    package var clockFile: String?
    package var wording = Wording()
    /// The address below which links belong to the wallet; nil for the wallet's default.
    package var linkBase: String?
    package var lockTimes = LockTimes()

    package init(server: TLSDialer.Server) {
        self.server = server
    }

    /// Reads server, trust, authority and clock from a lab.
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

    /// Reads the home's wallet.yaml; server, trust, authority and clock of `lab` take precedence.
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
    }

    /// The clock of the wallet: the lab's, or the system's.
    package func clock() throws(PhoneError) -> any WallClock {
        guard let file = self.clockFile else { return SystemClock() }
        do {
            return try FollowedLabClock(file: file)
        } catch {
            throw .storage("the lab's clock cannot be read: \(error)")
        }
    }

    static func contents(of path: String) throws(PhoneError) -> [UInt8] {
        do {
            return try DurableFile.read(path, atMost: 1 << 20)
        } catch {
            throw .usage("\(error)")
        }
    }
}
