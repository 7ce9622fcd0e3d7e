import Crypto
import Foundation
import TestSupport
import Testing

@Suite("The examples of other daemons")
struct OtherModuleTests {
    private let folder = TemporaryFolder()
    private let root = Array("an example of a key of 32 bytes!".utf8)
    private var socket: String { self.folder.file("keys.sock") }

    private static func example(_ name: String) -> String { "\(SoftToken.repository)/deploy/keys/\(name)" }

    private func ask(_ line: String) async throws -> String {
        let client = try await RawClient(unixSocket: self.socket)
        defer { client.close() }
        await client.send("\(line)\n")
        return await client.receive(until: "\n")
    }

    /// Expects the codes of the key, as `key-1`, and the protocol's other answers.
    private func expectCodes() async throws {
        for message in [[0x00], Array("remote-pin".utf8), [UInt8](repeating: 0xAB, count: 128)] as [[UInt8]] {
            let code = HMAC<SHA256>.authenticationCode(for: message, using: SymmetricKey(data: self.root))
            let answer = try await self.ask("mac key-1 \(Self.hex(message))")
            #expect(answer == "ok \(Self.hex(Array(code)))\n")
        }
        #expect(try await self.ask("mac key-2 00") == "unknown\n")
        for line in ["", "mac key-1 ", "mac key-1 0", "mac key-1 \(String(repeating: "00", count: 129))"] {
            #expect(try await self.ask(line) == "failed request\n")
        }
        let attributes = try FileManager.default.attributesOfItem(atPath: self.socket)
        #expect(attributes[.posixPermissions] as? Int == 0o660)
    }

    private static func hex(_ bytes: [UInt8]) -> String { bytes.map { String(format: "%02x", $0) }.joined() }

    @Test("tpm2-keys computes with a key in a TPM, and answers `failed` while the TPM is away")
    func tpm() async throws {
        let tpm = self.folder.file("tpm.sock")
        let script = """
            echo ready; exec swtpm socket --tpm2 --tpmstate dir=\(self.folder.path) --server type=unixio,path=\(tpm) \
            --ctrl type=unixio,path=\(tpm).ctrl --flags not-need-init,startup-clear
            """
        let device = try await ServerProcess.start(["-c", script], of: "/bin/sh", until: "ready")
        try await poll { FileManager.default.fileExists(atPath: "\(tpm).ctrl") }
        let environment = ["TPM2TOOLS_TCTI": "swtpm:path=\(tpm)"]
        try Data(self.root).write(to: URL(fileURLWithPath: self.folder.file("key")))
        let make = """
            cd \(self.folder.path) && tpm2_createprimary -C o -c primary && tpm2_flushcontext -t &&
            tpm2_import -C primary -G hmac -i key -u public -r private && tpm2_flushcontext -t &&
            tpm2_load -C primary -u public -r private -c loaded && tpm2_flushcontext -t &&
            tpm2_evictcontrol -C o -c loaded 0x81010001 && tpm2_flushcontext -t
            """
        let made = try await ServerProcess.run("/usr/bin/env", ["TPM2TOOLS_TCTI=swtpm:path=\(tpm)", "sh", "-c", make])
        try #require(made.exitCode == 0, "\(made.output)")
        let daemon = try await ServerProcess.start(
            [self.socket, "key-1=0x81010001"],
            of: Self.example("tpm2-keys"),
            environment: environment
        )
        try await self.expectCodes()
        await device.kill()
        #expect(try await self.ask("mac key-1 00") == "failed module\n")
        await daemon.kill()
    }

    @Test("transit-keys computes with a key in a key service, and answers `failed` if the service does not")
    func transit() async throws {
        // A stand-in for the service: POST /v1/transit/hmac/NAME/sha2-256, as in the API of HashiCorp Vault.
        let service = """
            import base64, hmac, http.server, json
            class Service(http.server.BaseHTTPRequestHandler):
                def do_POST(self):
                    asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                    known = self.path == "/v1/transit/hmac/remote-pin-key-1/sha2-256"
                    allowed = self.headers["X-Vault-Token"] == "a token"
                    self.send_response(403 if not allowed else 200 if known else 400)
                    self.end_headers()
                    root, message = b"\(String(decoding: self.root, as: UTF8.self))", base64.b64decode(asked["input"])
                    code = base64.b64encode(hmac.digest(root, message, "sha256")).decode()
                    self.wfile.write(json.dumps({"data": {"hmac": "vault:v1:" + code}}).encode())
            server = http.server.HTTPServer(("127.0.0.1", 0), Service)
            print("port", server.server_port, "ready", flush=True)
            server.serve_forever()
            """
        let process = try await ServerProcess.start(["-c", service], of: "/usr/bin/python3", until: "ready")
        let port = try #require(process.output.firstMatch(of: /port (\d+)/)).output.1
        let file = try self.folder.write("a token\n", to: "token")
        let daemon = try await ServerProcess.start(
            [self.socket, "http://127.0.0.1:\(port)/v1/transit", file],
            of: Self.example("transit-keys")
        )
        try await self.expectCodes()
        _ = try self.folder.write("another\n", to: "token")
        #expect(try await self.ask("mac key-1 00") == "failed module\n")
        await process.kill()
        #expect(try await self.ask("mac key-1 00") == "failed module\n")
        await daemon.kill()
    }
}
