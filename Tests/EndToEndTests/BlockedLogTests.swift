import Glibc
import HostSystem
import LabFiles
import TestSupport
import Testing

/// Programs whose log goes to a pipe that nothing reads.
@Suite("A log that nothing reads")
struct BlockedLogTests {
    private let lab: LabUnderTest
    private let folder = TemporaryFolder()

    init() async throws {
        self.lab = try await LabUnderTest()
    }

    /// Starts a program of this package with standard error redirected to a path.
    private func start(
        _ program: String,
        _ arguments: [String],
        errorsTo path: String,
        _ environment: [String: String] = [:]
    ) async throws -> ServerProcess {
        try await ServerProcess.start(
            ["-c", "exec \"$0\" \"$@\" 2<>\"$LOG\"", Programs.path(program)] + arguments,
            of: "/bin/bash",
            environment: environment.merging(["LOG": path]) { $1 }
        )
    }

    @Test(
        "the server judges PINs, answers probes and stops; the lines follow once something reads them",
        arguments: [false, true]
    )
    func server(hasFile: Bool) async throws {
        let (pipe, port) = (FullPipe(in: self.folder), Int.random(in: 20_000..<32_768))
        var environment = LabUnderTest.sixteenAttempts
        environment["REMOTE_PIN_LOG_FILE"] = hasFile ? pipe.path : "none"
        environment["REMOTE_PIN_LOG_LEVEL"] = "debug"
        environment["REMOTE_PIN_OBSERVATION_LISTEN"] = "127.0.0.1:\(port)"
        let errors = hasFile ? "/dev/null" : pipe.path
        let up = ["lab", "up", self.lab.lab.path]
        let server = try await self.start("remote-pin-server", up, errorsTo: errors, environment)
        let wallet = try await self.lab.register(pin: "135790")
        for _ in 0..<20 { #expect(try await wallet.openSession().check("135790") == wallet.unlockShare.asValid) }
        let observed = ObservedServer(port: port)
        #expect(try await observed.get("/livez").contains("200 OK"))
        #expect(try await observed.value("remote_pin_log_lines_dropped_total") == 0)
        let text = await pipe.read(until: " debug connected")
        #expect(text.contains(" notice ready ") && text.contains(" notice audit log "))
        #expect(await server.terminate() == 0)
    }

    @Test("a full pipe does not delay a second SIGTERM, and a stop with a full pipe ends by itself")
    func stop() async throws {
        let pipe = FullPipe(in: self.folder)
        var environment = LabUnderTest.sixteenAttempts
        let observed = ObservedServer(port: .random(in: 20_000..<32_768))
        environment["REMOTE_PIN_OBSERVATION_LISTEN"] = "127.0.0.1:\(observed.port)"
        for delay in ["5m", "0s"] {
            environment["REMOTE_PIN_DRAIN_DELAY"] = delay
            let up = ["lab", "up", self.lab.lab.path]
            let server = try await self.start("remote-pin-server", up, errorsTo: pipe.path, environment)
            server.send(SIGTERM)
            if delay == "5m" {
                // Two pending signals would count as one.
                #expect(await eventually { (try? await observed.get("/readyz").contains("stopping")) ?? false })
                server.send(SIGTERM)
            }
            #expect(await server.ended() == (delay == "5m" ? 128 + SIGTERM : 0))
        }
    }

    @Test("a start that fails ends although nothing reads its message")
    func failure() async throws {
        let pipe = FullPipe(in: self.folder)
        let line = "exec \"$0\" serve \"$1\" --tls.key /nowhere 2<>\"$2\""
        let arguments = ["-c", line, Programs.path("remote-pin-server"), self.lab.lab.path, pipe.path]
        #expect(try await ServerProcess.run("/bin/bash", arguments).exitCode == 78)
    }

    @Test("a FIFO without a reader does not stop the start; the first reader gets the lines")
    func noReader() async throws {
        let fifo = self.folder.file("fifo")
        try #require(unsafe mkfifo(fifo, 0o600) == 0)
        let environment = LabUnderTest.sixteenAttempts.merging(["REMOTE_PIN_LOG_FILE": fifo]) { $1 }
        let server = try await self.lab.start(environment)
        let head = try await ServerProcess.run("/usr/bin/grep", ["-m1", "notice ready", fifo])
        #expect(head.output.contains(" notice ready "))
        #expect(await server.terminate() == 0)
    }

    @Test("the portal answers and stops")
    func portal() async throws {
        let pipe = FullPipe(in: self.folder)
        let server = try await self.lab.start()
        let arguments = [self.lab.lab.path, "--log.level", "debug"]
        let portal = try await self.start("remote-pin-portal", arguments, errorsTo: pipe.path)
        let match = try #require(portal.output.firstMatch(of: /ready on http:\/\/127\.0\.0\.1:([0-9]+)/))
        let port = try Int(match.output.1).orThrow()
        for _ in 0..<20 {
            let client = try await RawClient(port: port)
            await client.send("GET /en HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            #expect(await client.receive().contains("200 OK"))
        }
        #expect(await portal.terminate() == 0)
        #expect(await server.terminate() == 0)
    }

    @Test("a manager that does not read its notifications delays neither start nor stop")
    func manager() async throws {
        // A datagram socket whose queue (net.unix.max_dgram_qlen) fills up.
        let receiver = try DatagramReceiver(self.folder.file("notify"))
        let filler = try #require(DatagramSocket(path: self.folder.file("notify")))
        while (try? filler.send([0])) != nil {}
        let environment = ["NOTIFY_SOCKET": self.folder.file("notify")]
        let server = try await self.lab.start(LabUnderTest.sixteenAttempts.merging(environment) { $1 })
        #expect(await server.terminate() == 0)
        withExtendedLifetime(receiver) {}
    }
}
