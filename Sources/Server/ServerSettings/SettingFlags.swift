/// Rewrites `--pin.rounds 4` to `--set pin.rounds=4`, which the argument parser understands.
///
/// Only commands that take settings have the option `--set`. For any other command, the parser must name the option
/// that was typed. Setting names always contain a dot and the program's options never do, so they cannot be confused.
/// Unknown names are reported later, together with all other problems in the configuration.
package enum SettingFlags {
    /// Returns the arguments to pass to the parser.
    ///
    /// - Parameter commands: The names of the commands that take settings, or nil if the program itself does.
    package static func rewritten(_ arguments: [String], for commands: [String]? = nil) -> [String] {
        if let commands, !commands.contains(arguments.first ?? "") { return arguments }
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
