import ArgumentParser
internal import HostSystem
internal import LoadFleet

/// Where the load goes: the same options for every command that makes some.
struct TargetOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("The lab whose server takes the load; it is being served.", valueName: "dir"),
        completion: .directory
    )
    var lab: String?

    @Option(help: ArgumentHelp("A server that is no lab's; needs --ca.", valueName: "host:port"))
    var address: String?

    @Option(
        help: ArgumentHelp("The authority that signed the server's certificate, PEM.", valueName: "file"),
        completion: .file()
    )
    var ca: String?

    @Option(help: ArgumentHelp("What its certificate is for, if not the host.", valueName: "name"))
    var serverName: String?

    @Option(
        help: ArgumentHelp(
            "The test authority that the server takes phones' evidence from, for registrations.",
            valueName: "dir"
        ),
        completion: .directory
    )
    var authority: String?

    @Option(
        name: .customLong("i-own-this-server"),
        help: ArgumentHelp(
            "Load this host although it is not this machine. Only ever a server of your own.",
            valueName: "host"
        )
    )
    var ownedHost: String?

    func validate() throws {
        guard (self.lab == nil) != (self.address == nil) else {
            throw ValidationError("Say where the load goes: --lab DIR, or --address HOST:PORT with --ca FILE.")
        }
        if self.address != nil, self.ca == nil { throw ValidationError("--address needs --ca FILE.") }
        if self.lab != nil, self.ca != nil || self.serverName != nil || self.authority != nil {
            throw ValidationError("With --lab the lab says what --ca, --server-name and --authority would.")
        }
    }

    /// The server that is meant; only this machine's unless its owner is asked for by name.
    func target() throws -> Target {
        let target: Target
        do throws(Target.Problem) {
            if let lab = self.lab {
                target = try Target(lab: lab)
            } else {
                target = try Target(
                    address: self.address ?? "",
                    caFile: self.ca ?? "",
                    serverName: self.serverName,
                    authorityFolder: self.authority
                )
            }
        } catch {
            throw CommandFailure(.usage, error.description)
        }
        try self.requireOwnership(of: target)
        return target
    }

    private func requireOwnership(of target: Target) throws {
        guard !target.isLoopback else { return }
        guard self.ownedHost == target.host else {
            throw CommandFailure(
                .usage,
                """
                \(target.host) is not this machine. Load that nobody asked for is an attack. If the server is yours, and \
                nobody else's service depends on it, say so: --i-own-this-server \(target.host)
                """
            )
        }
        StandardStreams.writeError(
            "pin-load: warning: loading \(target.address), which is not this machine; only ever test your own servers\n"
        )
    }
}
