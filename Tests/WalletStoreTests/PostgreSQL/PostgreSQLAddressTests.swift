import PostgreSQLClient
import Testing

@Suite("The address of a PostgreSQL database")
struct PostgreSQLAddressTests {
    @Test(
        "a connection that leaves the machine needs verify-full, whatever form the address has",
        arguments: [
            "postgresql://u@db1,db2/d?sslmode=require", "host=localhost,db2 sslmode=prefer",
            "host=db sslmode=verify-ca",
            "hostaddr=10.0.0.1 host=localhost sslmode=disable", "host=127.0.0.1.example sslmode=prefer",
            "hostaddr=127.0.0.1, host=localhost,db sslmode=prefer", "hostaddr='' host=db sslmode=prefer",
        ]
    )
    func unverified(text: String) throws {
        let address = try PostgreSQLAddress(text)
        #expect(address.leavesMachine)
        #expect(throws: PostgreSQLAddress.Problem.self) { try address.verified() }
    }

    @Test("without a mode, an address off the machine gets verify-full, and a local one stays as it is")
    func standard() throws {
        let remote = try PostgreSQLAddress("postgresql://u@db1,db2:5433/d")
        #expect(try remote.verified() == PostgreSQLAddress("postgresql://u@db1,db2:5433/d?sslmode=verify-full"))
        for text in ["", "host=/run/postgresql", "postgresql://u@localhost/d", "host=127.0.0.1,::1"] {
            let local = try PostgreSQLAddress(text)
            #expect(!local.leavesMachine)
            #expect(try local.verified() == local)
        }
    }

    @Test("a password, a service and an unknown keyword are rejected")
    func rejected() {
        for text in ["postgresql://u:p@db/d", "password=p", "service=pin", "hots=db", "host='db"] {
            #expect(throws: PostgreSQLAddress.Problem.self) { try PostgreSQLAddress(text) }
        }
    }

    @Test("a variable of the environment that libpq would use is rejected, unless the address sets its value")
    func environment() throws {
        #expect(throws: PostgreSQLAddress.Problem.self) {
            try PostgreSQLAddress("host=localhost", in: { $0 == "PGHOSTADDR" })
        }
        #expect(throws: PostgreSQLAddress.Problem.self) {
            try PostgreSQLAddress(service: "pin", of: "[pin]\nuser=u", in: { $0 == "PGHOST" })
        }
        #expect(try !PostgreSQLAddress("host=localhost", in: { $0 == "PGHOST" }).leavesMachine)
    }

    @Test(
        "a text that cannot be read is not repeated: it may have a password",
        arguments: [
            "postgresql://u:se%cret@db/d", "postgresql://u:secret@[::1/d", "password=a secret",
            "postgresql://u:se/cret@db/d", "postgresql://u:12/secret@db/d", "postgresql://u:secret/word",
            "host=postgresql://u:secret@db/d", "host=db,u:secret@db", "dbname=postgresql://u:secret@db/d",
        ]
    )
    func quotation(text: String) {
        let problem = #expect(throws: PostgreSQLAddress.Problem.self) { try PostgreSQLAddress(text) }
        #expect(problem?.description.contains("cret") == false)
    }

    @Test("a service file's section is read as the same keywords would be, and only that section")
    func service() throws {
        let file = "# all\n[other]\nhost=wrong\n[pin]\n host = db1,db2 \ndbname=it's \\ here\n[more]\nuser=x\n"
        let address = try PostgreSQLAddress(service: "pin", of: file)
        #expect(try address == PostgreSQLAddress("host=db1,db2 dbname='it\\'s \\\\ here'"))
        #expect(throws: PostgreSQLAddress.Problem.self) { try PostgreSQLAddress(service: "none", of: file) }
        #expect(throws: PostgreSQLAddress.Problem.self) {
            try PostgreSQLAddress(service: "pin", of: "[pin]\npassword=p")
        }
    }
}
