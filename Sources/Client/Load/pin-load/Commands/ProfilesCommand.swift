import ArgumentParser
internal import HostSystem

struct ProfilesCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "profiles",
        abstract: "Explain the ready-made plans of 'run --profile'.",
        discussion: """
            Options of 'run' replace those of the profile: --rate, --connections, --stages and --duration the course \
            of the load, every other option its own value. Thresholds are added.

            EXAMPLES

              pin-load run --lab lab --wallets wallets --profile smoke
              pin-load run --lab lab --wallets wallets --profile soak --stages 12h:=50/s
            """
    )

    func run() {
        StandardStreams.writeOutput(LoadProfile.all.map(\.description).joined(separator: "\n"))
    }
}

extension LoadProfile {
    fileprivate var description: String {
        let options = self.options.map { "    \($0.name) '\($0.value)'" }.joined(separator: "\n")
        return "\(self.name)\n  \(self.question)\n\(options)\n  \(self.reading)\n"
    }
}
