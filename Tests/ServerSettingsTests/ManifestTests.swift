import ConfigText
import Foundation
import ServerSettings
import Testing

@Suite("The settings in the manifests for Kubernetes")
struct ManifestTests {
    private static func text(_ name: String) throws -> String {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        return try String(contentsOf: root.appendingPathComponent("deploy/kubernetes/\(name)"), encoding: .utf8)
    }

    /// The settings in a manifest's ConfigMap.
    private static func settings(in name: String) throws -> ServerSettings {
        let lines = try Self.text(name).split(separator: "\n", omittingEmptySubsequences: false)
        let start = try #require(lines.firstIndex(of: "  server.yaml: |"))
        let file = lines[(start + 1)...].prefix { $0.hasPrefix("    ") }.map { $0.dropFirst(4) }
        let config = ConfigFile(
            path: "server.yaml",
            folder: "/etc/remote-pin",
            text: file.joined(separator: "\n") + "\n"
        )
        let report = SettingsReport(reading: SettingsSources(file: config, currentFolder: "/"))
        return try #require(report.settings, "\(name): \(report.problems)")
    }

    /// The number after a word, which occurs once in a manifest.
    private static func number(after word: String, in name: String) throws -> Int {
        let parts = try Self.text(name).components(separatedBy: word)
        try #require(parts.count == 2, "\(word) in \(name)")
        return try #require(Int(parts[1].prefix { $0.isNumber }), "\(word) in \(name)")
    }

    @Test(
        "the cluster waits for a server's orderly end: for its hook, its delay, its limit and its last connections",
        arguments: [("base.yaml", "remote-pin.yaml"), ("cluster.yaml", "cluster.yaml")]
    )
    func graceTime(configuration: String, pod: String) throws {
        let settings = try Self.settings(in: configuration)
        let hook = pod == "cluster.yaml" ? try Self.number(after: "[sleep, \"", in: pod) : 0
        let stop = settings[SettingTable.drainDelay] + settings[SettingTable.drainLimit] + .seconds(hook + 5)
        #expect(stop <= .seconds(try Self.number(after: "terminationGracePeriodSeconds: ", in: pod)))
    }

    @Test("several servers share a database and have their own names; a drain takes one of them at a time")
    func cluster() throws {
        let settings = try Self.settings(in: "cluster.yaml")
        #expect(settings[SettingTable.storeKind] == .postgreSQL)
        #expect(settings[SettingTable.durability] == .replicated)
        #expect(settings[SettingTable.storeTLS] == .verifyFull)
        // The name of the pod.
        #expect(settings[SettingTable.clusterServer] == nil)
        #expect(try Self.number(after: "replicas: ", in: "cluster.yaml") >= 2)
        #expect(try Self.number(after: "maxUnavailable: ", in: "cluster.yaml") == 1)
        // A restart does not bring the database back, so only traffic depends on it.
        let pod = try Self.text("cluster.yaml")
        #expect(pod.components(separatedBy: "path: /readyz").count == 2)
        #expect(pod.contains("readinessProbe:\n            httpGet: {path: /readyz"))
    }

    @Test("the embedded store has one server, which no drain ends")
    func embedded() throws {
        #expect(try Self.settings(in: "base.yaml")[SettingTable.storeKind] == .sqlite)
        #expect(try Self.number(after: "replicas: ", in: "remote-pin.yaml") == 1)
        #expect(try Self.number(after: "maxUnavailable: ", in: "remote-pin.yaml") == 0)
    }

    @Test("one source gets at most a quarter of the connections", arguments: ["base.yaml", "cluster.yaml"])
    func sources(configuration: String) throws {
        let settings = try Self.settings(in: configuration)
        let limit = settings[SettingTable.connectionsPerSource]
        // 0 means no limit.
        #expect(limit > 0 && limit <= settings[SettingTable.connections] / 4)
    }

    @Test("only the init job creates a vault or a store; on a lost volume the server does not start")
    func initialization() throws {
        #expect(try Self.text("init.yaml").contains("args: [init, "))
        let pod = try Self.text("remote-pin.yaml")
        #expect(pod.contains("if [ ! -e /var/lib/remote-pin-key/vault.key ]; then") && pod.contains("exit 1"))
        #expect(pod.contains("args: [serve, ") && !pod.contains("init, ") && !pod.contains("remote-pin-server init"))
    }
}
