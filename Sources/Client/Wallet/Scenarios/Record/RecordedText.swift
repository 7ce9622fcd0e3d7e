internal import ConfigText
internal import HostSystem
internal import LabFiles
internal import Phone
internal import Vocabulary
internal import WalletFlows
internal import Yams

/// Formats the values in a recorded scenario as single-line YAML.
enum RecordedText {
    /// Returns the text in quotes, in which `${` does not begin a name.
    static func quoted(_ text: String) -> String { JSONText.quoted(text.replacing("${", with: "\(Step.dollar){")) }

    static func fields(_ fields: [(String, ConfigValue)]) -> String {
        "{\(fields.map { "\($0.0): \(Self.text($0.1))" }.joined(separator: ", "))}"
    }

    private static func text(_ value: ConfigValue) -> String {
        switch value.content {
        case .nothing: "~"
        case .word(let word): word.wholeMatch(of: /[A-Za-z0-9._-]+/) == nil ? Self.quoted(word) : word
        case .list(let list): "[\(list.map(Self.text).joined(separator: ", "))]"
        case .fields(let fields): Self.fields(fields.sorted { $0.key < $1.key }.map { ($0.key, $0.value) })
        }
    }
}

/// The lab server's settings that can be written to a scenario.
enum RecordedServer {
    /// Reads the settings from the lab server's configuration file.
    ///
    /// Settings from the command line are not included.
    static func settings(lab: String) throws -> [(name: String, value: String)] {
        let file = try LabFile(of: LabFolder(lab)).server + "/server.yaml"
        let text = try DurableFile.readText(file, atMost: 1 << 20)
        let root = try Yams.compose(yaml: text)
        return ServerTable.settings.compactMap { field in
            let path = field.name.split(separator: ".").map(String.init)
            guard let value = root?[path[0]]?[path[1]], let text = Self.text(value) else { return nil }
            return (field.name, text)
        }
    }

    private static func text(_ node: Node) -> String? {
        if let sequence = node.sequence { return "[\(sequence.compactMap(Self.text).joined(separator: ", "))]" }
        return node.scalar?.string
    }
}

extension WalletSettings {
    /// Returns the value under its name in a scenario if it differs from the app's default.
    fileprivate func differing<Value: Equatable>(
        _ name: String,
        _ value: Value,
        _ standard: Value,
        _ text: (Value) -> String
    ) -> [(String, ConfigValue)] {
        value == standard ? [] : [(name, .word(text(value)))]
    }

    var recorded: [(String, ConfigValue)] {
        let (wording, times) = (Wording(), LockTimes())
        func duration(_ duration: Duration) -> String { "\(duration.milliseconds)ms" }
        return self.differing("language", self.wording.language, wording.language, \.rawValue)
            + self.differing("product", self.wording.product, wording.product) { $0 }
            + self.differing("link_base", self.linkBase, nil) { $0 ?? "" }
            + self.differing("lock_after_background", self.lockTimes.background, times.background, duration)
            + self.differing("lock_after_inactivity", self.lockTimes.inactivity, times.inactivity, duration)
            + self.differing("lock_warning_after", self.lockTimes.warning, times.warning, duration)
            + self.differing("pin_after_enrollment", self.pinAfterEnrollment, false) { "\($0)" }
            + self.differing("confirm_with_prompt", self.confirmsWithPrompt, false) { "\($0)" }
    }
}
