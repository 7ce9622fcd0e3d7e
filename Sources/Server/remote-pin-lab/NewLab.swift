internal import Foundation
internal import HostSystem
internal import Lab
internal import LabFiles
internal import ServerSettings
internal import StoreMaintenance

/// A lab that has not been created yet.
struct NewLab {
    private let lab: LabFolder

    init(_ lab: LabFolder) { self.lab = lab }

    /// Creates all files of the lab, so that it can be served.
    ///
    /// - Throws: A file error, or ``NewServerState/FolderInUse`` if the folder is not empty.
    func create() async throws {
        try NewServerState.requireUnused(self.lab.path)
        try DurableFile.makeFolder(self.lab.path)
        try DurableFile.makeFolder(self.lab.serverFolder)
        try self.createAuthority()
        try await NewServerState.create(vaultKey: self.lab.vaultKeyFile, data: self.lab.dataFolder)
        try DurableFile.write(Array("0\n".utf8), to: self.lab.clockFile)
        try DurableFile.write(Array(self.configuration.utf8), to: self.lab.configurationFile)
        let file = LabFile(
            host: "127.0.0.1",
            port: 0,
            serverName: "localhost",
            caFile: "\(self.lab.authorityFolder)/\(LabAuthority.File.tlsAuthority)",
            authority: self.lab.authorityFolder,
            clockFile: self.lab.clockFile,
            server: self.lab.serverFolder
        )
        // Write this file last: a folder with a lab.yaml is a complete lab.
        try file.write(to: self.lab)
    }

    private func createAuthority() throws {
        let authority = try LabAuthority.create(in: self.lab.authorityFolder)
        let (chain, key) = authority.issueTLSServerCertificate(names: LabAuthority.serverNames)
        try DurableFile.write(Array(chain.utf8), to: self.lab.certificateFile)
        try DurableFile.write(Array(key.utf8), to: self.lab.certificateKeyFile)
    }

    /// The server configuration, with the settings that differ from the defaults in a lab.
    private var configuration: String {
        let digest = LabApp.androidSigningDigest.map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }
        let socket = self.lab.socketPath(runtimeFolder: Self.runtimeFolder)
        return ConfigurationFile.text(
            setting: [
                "listen.address": "127.0.0.1:0",
                "tls.certificate": "tls.pem",
                "tls.key": "tls.key",
                "admin.socket": "'\(socket)'",
                "portal.socket": "'\(URL(fileURLWithPath: socket).deletingLastPathComponent().path)/portal.sock'",
                // Several labs may be running at the same time.
                "portal.listen": "127.0.0.1:0",
                "observation.listen": "127.0.0.1:0",
                // In a lab, all load comes from one machine.
                "limits.frames-per-source": "0",
                "limits.enrollments-per-source": "0",
                "android.apps": "['\(LabApp.androidPackage):\(digest.joined()):2']",
                "android.patch-level": "2025-01",
                "android.vendor-patch-level": "2025-01-01",
                "android.boot-patch-level": "2025-01-01",
                "android.roots": "[../authority/\(LabAuthority.File.androidRoot)]",
                "android.status-list": "../authority/\(LabAuthority.File.statusList)",
                // The age of the list is the age of its file, and a lab's clock may be moved by years.
                "android.stale-status-list": "warn",
                "ios.apps": "[\(LabApp.iOSTeam).\(LabApp.iOSBundle)]",
                "ios.roots": "[../authority/\(LabAuthority.File.appleRoot)]",
                "log.file": "server.log",
                "lab.folder": "..",
            ],
            heading: "The configuration of a lab's server. Port 0 takes a free port on the first start and keeps it."
        )
    }

    /// The user's folder for sockets, if the system provides one.
    private static var runtimeFolder: String? {
        guard let folder = ProcessInfo.processInfo.environment["XDG_RUNTIME_DIR"], folder.hasPrefix("/"),
            FileManager.default.isWritableFile(atPath: folder)
        else { return nil }
        return folder
    }
}
