internal import LabFiles
internal import HostSystem
internal import Vocabulary
package import WalletCore
package import WalletFlows

/// Which server, whom to trust, which language: from a lab, or from the home's wallet.yaml.
package struct WalletSettings: Sendable {
    package var server: TLSDialer.Server
    /// Nil where simulated devices cannot be attested.
    package var authorityFolder: String?
    /// The file with a lab clock's offset; nil for the system's time.
    package var clockFile: String?
    package var wording = Wording()
    /// Links below this address are the wallet's own; nil for the wallet's default.
    package var linkBase: String?
    package var lockTimes = LockTimes()

    package init(server: TLSDialer.Server) {
        self.server = server
    }

    /// Server, trust, authority and clock of a lab.
    package init(lab: String) throws(PhoneError) {
        let file: LabFile
        do throws(LabError) {
            file = try LabFile(of: LabFolder(Environment.absolute(lab)))
        } catch {
            throw .usage("the lab cannot be used: \(error)")
        }
        self.server = TLSDialer.Server(
            host: file.host,
            port: file.port,
            name: file.serverName,
            trust: .authority(pem: try Self.contents(of: file.caFile))
        )
        self.authorityFolder = file.authority
        self.clockFile = file.clockFile
    }

    /// What the home's wallet.yaml says; `lab` wins for server, trust, authority and clock.
    package init(home: PhoneHome, lab: String?) throws(PhoneError) {
        let file = try SettingsFile(home.settingsFile)
        if let lab {
            self = try WalletSettings(lab: lab)
        } else {
            self.server = try file.server()
            self.authorityFolder = file.absolutePath("authority")
        }
        self.wording = try file.wording()
        self.linkBase = file.text("link_base")
        self.lockTimes = try file.lockTimes()
    }

    /// The time by which the wallet lives.
    func clock() throws(PhoneError) -> any WallClock {
        guard let file = self.clockFile else { return SystemClock() }
        do throws(LabError) {
            return try FollowedLabClock(file: file)
        } catch {
            throw .storage("the lab's clock cannot be read: \(error)")
        }
    }

    static func contents(of path: String) throws(PhoneError) -> [UInt8] {
        do throws(FileError) {
            return try DurableFile.read(path, atMost: 1 << 20)
        } catch {
            throw .usage("\(error)")
        }
    }
}
