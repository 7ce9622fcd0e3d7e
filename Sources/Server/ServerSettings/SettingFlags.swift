/// Turns `--pin.rounds 4` into what the parser knows, `--set pin.rounds=4`.
///
/// All names of settings have a dot and no option of the program has one, so the two are never confused; that the name
/// is a setting's is found where all other problems of the configuration are.
package enum SettingFlags {
    /// The arguments as the parser takes them.
    package static func rewritten(_ arguments: [String]) -> [String] {
        var result: [String] = []
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            if argument == "--" { return result + [argument] + rest }
            let name = argument.prefix { $0 != "=" }
            guard name.hasPrefix("--"), name.contains(".") else {
                result.append(argument)
                continue
            }
            let setting = argument.dropFirst(2)
            if setting.contains("=") {
                result += ["--set", String(setting)]
            } else if let value = rest.popFirst() {
                result += ["--set", "\(setting)=\(value)"]
            } else {
                result.append(argument)
            }
        }
        return result
    }
}
