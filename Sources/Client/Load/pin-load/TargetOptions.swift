import ArgumentParser
internal import HostSystem
internal import LoadEngine

/// Options for the server under test.
struct TargetOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("Lab whose server is tested; the server must be running.", valueName: "dir"),
        completion: .directory
    )
    var lab: String?

    @Option(help: ArgumentHelp("Server without a lab; needs --ca.", valueName: "host:port"))
    var address: String?

    @Option(
        help: ArgumentHelp("CA certificate of the server, PEM.", valueName: "file"),
        completion: .file()
    )
    var ca: String?

    @Option(help: ArgumentHelp("Name in the server's certificate. (default: the host)", valueName: "name"))
    var serverName: String?

    @Option(
        help: ArgumentHelp(
            "Test authority that the server trusts for attestation; needed for registrations.",
            valueName: "dir"
        ),
        completion: .directory
    )
    var authority: String?

    @Option(
        name: .customLong("i-own-this-server"),
        help: ArgumentHelp(
            "Allow a test of this remote host. Repeatable. Test only servers that you own.",
            valueName: "host"
        )
    )
    var ownedHosts: [String] = []

    func validate() throws {
        guard (self.lab == nil) != (self.address == nil) else {
            throw ValidationError("Name the server: --lab DIR, or --address HOST:PORT with --ca FILE.")
        }
        if self.address != nil, self.ca == nil { throw ValidationError("--address needs --ca FILE.") }
        if self.lab != nil, self.ca != nil || self.serverName != nil || self.authority != nil {
            throw ValidationError(
                "--ca, --server-name and --authority cannot be combined with --lab, which contains them."
            )
        }
    }

    /// Returns the server.
    ///
    /// A remote host is allowed only with `--i-own-this-server`.
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
            throw PinLoadFailure(.usage, error.description)
        }
        try self.requireOwnership(of: target)
        return target
    }

    /// Returns another server on the same store.
    func sibling(of target: Target, at address: String) throws -> Target {
        let sibling = try mapError(target.sibling(at: address), to: PinLoadFailure.usage)
        try self.requireOwnership(of: sibling)
        return sibling
    }

    private func requireOwnership(of target: Target) throws {
        guard !target.isLoopback else { return }
        guard self.ownedHosts.contains(target.host) else {
            throw PinLoadFailure(
                .usage,
                """
                \(target.host) is not this machine, and an unauthorized load test is an attack. If you own the server \
                and no other service depends on it, add --i-own-this-server \(target.host)
                """
            )
        }
        StandardStreams.writeError(
            "pin-load: warning: \(target.address) is a remote host; test only servers that you own\n"
        )
    }
}

/// Options for the wallets of a run.
struct FleetOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Wallet file of 'pin-load provision'.", valueName: "file"), completion: .file())
    var wallets: String

    @Flag(help: "Ignore the histories of earlier runs, after the server's store was restored from a backup.")
    var forgetHistories = false

    func open(for target: Target) throws(PinLoadFailure) -> Fleet {
        do throws(FleetError) {
            let fleet = try Fleet.open(self.wallets, for: target.fingerprint)
            if self.forgetHistories { try fleet.forgetHistories() }
            return fleet
        } catch {
            throw PinLoadFailure(error)
        }
    }
}
