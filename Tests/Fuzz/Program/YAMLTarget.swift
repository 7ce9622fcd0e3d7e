internal import ConfigText
internal import Scenarios
internal import ServerSettings
internal import SimulatedPhone
internal import TestSupport

/// The readers of YAML files: the server's settings, scenarios and device profiles.
final class YAMLTarget: FuzzTarget {
    /// A folder that does not exist: a scenario may include files.
    private static let path = "/nonexistent/fuzz.yaml"

    var format: InputFormat? { .lines }

    func run(_ input: [UInt8]) {
        let text = String(decoding: input, as: UTF8.self)
        _ = try? ServerSettings(
            file: ConfigFile(path: Self.path, folder: "/nonexistent", text: text),
            currentFolder: "/nonexistent"
        )
        _ = try? Scenario(yaml: text, path: Self.path)
        _ = try? DeviceProfile(yaml: text, source: Self.path)
    }

    var words: [String] {
        SettingTable.all.map { "\($0.key): " } + Set(SettingTable.all.map { "\($0.section):\n" }).sorted() + [
            "case: ", "title: ", "steps:\n", "  - ", "set up: ", "expect: ", "for each: ", "include: ", "tap: ",
            "server: ",
            "platform: android\n", "biometrics: ", "{", "}", "[", "]", "&a ", "*a", "!!binary ", "|\n", ">\n", "? ",
            "<<: ",
        ]
    }

    var seeds: [[UInt8]] {
        [
            """
            listen: {port: 7443, address: "::"}
            data: {folder: data}
            vault: {key-file: vault.key}
            pin: {rounds: 4, blocks: [1m, 5m, 1h]}
            android:
              apps: ["org.example.wallet"]
              status-list: none
            limits: {connections: 100}
            """,
            """
            case: LTC1
            title: A title
            device: {biometrics: fingerprint}
            steps:
              - set up: {pin: "024791", biometrics: enable}
              - for each: {name: word, in: [a, b], do: [{tap: "${word}"}]}
              - expect: {screen: UC7.1/1.3, actions: [yes-delete, cancel]}
              - include: {file: other.steps.yaml, with: {a: b}}
              - kill app
            """,
            """
            platform: ios
            biometrics: face
            """,
            BillionLaughs.texts[0], BillionLaughs.texts[1],
        ].map { Array($0.utf8) }
    }
}
