internal import AttestationVerifier
internal import ConfigText
internal import Evidence
internal import ServerSettings
internal import Vocabulary

/// The settings that affect decisions about wallets and devices, by name, as kept by a store shared by several servers.
///
/// Threat: among servers with different policies, the most lenient one decides for all wallets, because a wallet
/// chooses its server. The store therefore rejects a server with other values.
enum ServerPolicy {
    /// The sections whose settings all belong to the policy.
    private static let sections = ["pin.", "android.", "ios."]

    static func values(_ settings: ServerSettings, _ verifier: EvidenceVerifier) -> [String: String] {
        var values: [String: String] = [:]
        for row in settings.rows where Self.sections.contains(where: { row.name.hasPrefix($0) }) {
            values[row.name] = row.value ?? ""
        }
        // Files may be in different places on each server.
        values[SettingTable.androidRoots.name] = Self.digest(of: verifier.androidAnchors)
        values[SettingTable.iosRoots.name] = Self.digest(of: verifier.appleAnchors)
        values[SettingTable.androidStatusList.name] = settings[SettingTable.androidStatusList] == nil ? "none" : "set"
        // A server of one cluster must not serve the wallets of another.
        if let name = settings[SettingTable.clusterName] { values[SettingTable.clusterName.name] = name }
        values[SettingTable.labFolder.name] = settings[SettingTable.labFolder] == nil ? "none" : "set"
        return values
    }

    /// The policy of a server whose files have not been checked yet.
    static func values(of settings: ServerSettings) throws -> [String: String] {
        let isLab = settings[SettingTable.labFolder] != nil
        return Self.values(settings, try AttestationSettings.verifier(settings, isLab: isLab, statusList: nil))
    }

    /// A digest of the roots' keys, regardless of their order.
    private static func digest(of anchors: [TrustAnchor]) -> String {
        let keys = Set(anchors.map { "\($0.keyHash)\n" }).sorted().joined()
        return "sha256 \(Array(sha256(Array(keys.utf8)).bytes.prefix(16)).hex)"
    }
}
