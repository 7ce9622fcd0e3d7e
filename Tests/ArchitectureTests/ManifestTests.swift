import Testing

@Suite("Dependencies declared in the manifest")
struct ManifestTests {
    private let manifest: Manifest

    init() throws {
        self.manifest = try Manifest(of: SourceTree())
    }

    @Test("the library for host applications links no simulator, no test authority and no tool")
    func walletCore() {
        let linked = self.manifest.closure(of: "WalletCore")
        #expect(linked.isSuperset(of: ["WalletFlows", "Transport", "COpenSSL", "NIOCore"]))
        #expect(
            linked.isDisjoint(with: ["Lab", "SimulatedPhone", "Subprocess", "Yams", "ConfigText", "ArgumentParser"])
        )
    }

    @Test("the simulated phone links the test authority")
    func simulatedPhone() {
        // The names that the test above forbids are those that the manifest uses.
        let linked = self.manifest.closure(of: "SimulatedPhone")
        #expect(linked.isSuperset(of: ["Lab", "Subprocess", "Yams", "ConfigText"]))
        #expect(self.manifest.closure(of: "wallet").contains("ArgumentParser"))
    }

    @Test("the wallet and the load tool link nothing of each other")
    func wallets() {
        let houses = ["Sources/Client/Wallet/", "Sources/Client/Load/"].map { folder in
            Set(self.manifest.paths.filter { $0.value.hasPrefix(folder) }.keys)
        }
        #expect(houses[0].contains("WalletCore") && houses[1].contains("pin-load"))
        for (house, other) in [(houses[0], houses[1]), (houses[1], houses[0])] {
            for target in house {
                let shared = self.manifest.closure(of: target).intersection(other)
                #expect(shared.isEmpty, "\(target) links \(shared.sorted())")
            }
        }
    }

    @Test("the portal links no store, no vault and no verifier")
    func portal() {
        let linked = self.manifest.closure(of: "remote-pin-portal")
        #expect(linked.isDisjoint(with: ["WalletStore", "PostgreSQLStore", "Vault", "AttestationVerifier"]))
        #expect(self.manifest.closure(of: "remote-pin-server").contains("AttestationVerifier"))
    }

    @Test("no program but the daemon of a module loads a vendor's library, and the daemon links no store")
    func modules() {
        for program in ["remote-pin-server", "remote-pin-portal", "remote-pin-lab", "wallet", "pin-load"] {
            #expect(!self.manifest.closure(of: program).contains("PKCS11"), "\(program)")
        }
        let linked = self.manifest.closure(of: "remote-pin-keys")
        #expect(linked.contains("PKCS11") && linked.isDisjoint(with: ["WalletStore", "PostgreSQLStore", "AuditLog"]))
    }

    @Test("the production programs link no test authority; the lab program does")
    func testAuthority() {
        for program in ["remote-pin-server", "remote-pin-portal"] {
            let linked = self.manifest.closure(of: program)
            #expect(linked.isSuperset(of: ["LabFiles", "ServerSettings"]), "\(program)")
            #expect(!linked.contains("Lab"), "\(program)")
        }
        #expect(self.manifest.closure(of: "remote-pin-lab").contains("Lab"))
    }
}
