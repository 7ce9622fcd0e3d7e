import HostSystem
import TestSupport
import Testing

@Suite("The service manager")
struct ServiceManagerTests {
    private let folder = TemporaryFolder()

    @Test("messages arrive as one datagram, at a path and at an abstract name", arguments: [false, true])
    func messages(isAbstract: Bool) async throws {
        let name = isAbstract ? "@remote-pin-\(UInt64.random(in: .min ... .max))" : self.folder.file("notify")
        let receiver = try DatagramReceiver(name)
        let manager = try #require(ServiceManager(environment: ["NOTIFY_SOCKET": name]))
        manager.tell(.ready, .status("two\nlines"))
        #expect(await receiver.next() == "READY=1\nSTATUS=two lines")
        manager.tell(.stopping)
        #expect(await receiver.next() == "STOPPING=1")
        manager.tell(.alive)
        #expect(await receiver.next() == "WATCHDOG=1")
    }

    @Test("a reload is reported with a monotonic time, on the manager's own clock")
    func reloading() async throws {
        let receiver = try DatagramReceiver(self.folder.file("notify"))
        let manager = try #require(ServiceManager(environment: ["NOTIFY_SOCKET": self.folder.file("notify")]))
        var last: Int64 = 0
        for _ in 0..<2 {
            manager.tell(.reloading)
            let lines = await receiver.next().split(separator: "\n")
            #expect(lines.first == "RELOADING=1")
            let time = try #require(lines.last?.split(separator: "=").last.flatMap { Int64($0) })
            #expect(lines.last?.hasPrefix("MONOTONIC_USEC=") == true && time > last)
            last = time
        }
    }

    @Test("without a Unix socket there is no manager, and an absent manager stops nothing")
    func noManager() throws {
        #expect(ServiceManager(environment: [:]) == nil)
        #expect(ServiceManager(environment: ["NOTIFY_SOCKET": "vsock:2:1"]) == nil)
        #expect(ServiceManager(environment: ["NOTIFY_SOCKET": "/" + String(repeating: "x", count: 107)]) == nil)
        let gone = try #require(ServiceManager(environment: ["NOTIFY_SOCKET": self.folder.file("gone")]))
        gone.tell(.ready)
    }

    @Test(
        "the watchdog's time applies to the named process, or to any if none is named",
        arguments: [
            (["WATCHDOG_USEC": "4000000"], Duration.seconds(4)),
            (["WATCHDOG_USEC": "4000000", "WATCHDOG_PID": "17"], .seconds(4)),
            (["WATCHDOG_USEC": "4000000", "WATCHDOG_PID": "18"], nil), (["WATCHDOG_USEC": "0"], nil),
            (["WATCHDOG_USEC": "soon"], nil), ([:], nil),
        ] as [([String: String], Duration?)]
    )
    func watchdog(environment: [String: String], interval: Duration?) throws {
        let environment = environment.merging(["NOTIFY_SOCKET": "/run/notify"]) { $1 }
        let manager = try #require(ServiceManager(environment: environment, processID: 17))
        #expect(manager.watchdogInterval == interval)
    }
}
