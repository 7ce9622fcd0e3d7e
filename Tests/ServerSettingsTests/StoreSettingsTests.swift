import ConfigText
import ServerSettings
import Testing

@Suite("Settings of a PostgreSQL store")
struct StoreSettingsTests {
    private static func settings(_ store: String) throws -> ServerSettings {
        let text = """
            tls: {certificate: server.pem, key: server.key}
            ios: {apps: [ABCDE12345.org.example.wallet]}
            \(store)
            """
        let file = ConfigFile(path: "server.yaml", folder: "/etc/pin", text: text)
        return try ServerSettings(file: file, currentFolder: "/")
    }

    @Test(
        "an address that may contain a password is not shown, however it is written",
        arguments: [
            "postgresql://u:s3cret@db/d", "postgresql://u:s3/cr@et@db/d", "u:s3cret@db/d",
            "postgresql://u@db/d?password=s3cret", "postgresql://u@db/d?p%61ssword=s3cret",
            "postgresql://u:s3cret%zz@db/d", "host=db password=s3cret", "host=db PASSWORD = 's3cret'",
            "host=db sslpassword=s3cret", "postgresql://u%3As3cret@db/d", "postgresql://u:s3cret%40db/d",
            "postgresql://u:s3cret/d",
        ]
    )
    func hidden(address: String) throws {
        let settings = try Self.settings("store: {kind: postgresql, address: \"\(address)\"}")
        #expect(settings.rows.first { $0.name == "store.address" }?.value == SettingRow.hidden)
        #expect(settings[SettingTable.storeAddress] == address)
        let long = address + String(repeating: "s3cret", count: 1000)
        let error = #expect(throws: ConfigError.self) {
            try Self.settings("store: {kind: postgresql, address: \"\(long)\"}")
        }
        #expect(error?.description.contains("store.address") == true)
        #expect(error?.description.contains("s3") == false)
    }

    @Test(
        "an address without a password is shown",
        arguments: [
            "postgresql://u@db1,db2:5433/d", "postgresql://[::1]:5432/d", "postgresql://db:5432/d", "host=db user=u",
        ]
    )
    func shown(address: String) throws {
        let settings = try Self.settings("store: {kind: postgresql, address: \"\(address)\"}")
        #expect(settings.rows.first { $0.name == "store.address" }?.value?.contains(address) == true)
    }

    @Test("a server without a configured name uses its machine's name, if that is valid")
    func serverName() throws {
        let settings = try Self.settings("store: {kind: postgresql, address: host=db}")
        #expect(settings.serverName(ofMachine: "pin-1.example") == "pin-1.example")
        for name in ["", "pin 1", "pin\n1", "none", "pin|1", String(repeating: "a", count: 64)] {
            #expect(settings.serverName(ofMachine: name) == nil, "\(name)")
        }
        let named = try Self.settings("store: {kind: postgresql, address: host=db}\ncluster: {server: pin1}")
        #expect(named.serverName(ofMachine: "pin 1") == "pin1")
    }
}
