/// Rewrites `--pin.rounds 4` as `--set pin.rounds=4`, which the argument parser knows.
///
/// Every setting's name contains a dot and no option of the program does, so the two are never confused. Unknown names
/// are reported later, with all other problems of the configuration.
package enum SettingFlags {
    /// The arguments for the parser.
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
