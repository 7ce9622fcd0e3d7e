import HostSystem
import TestSupport
import Testing

@Suite("Datagrams to a log service")
struct DatagramSocketTests {
    private let folder = TemporaryFolder()

    @Test("a datagram arrives as a whole; without a program that listens, the send fails")
    func send() async throws {
        let path = self.folder.file("log")
        let socket = try #require(DatagramSocket(path: path))
        #expect(throws: FileError.notFound(path)) { try socket.send([1]) }
        let receiver = try DatagramReceiver(path)
        let datagram = (0..<70_000).map { UInt8($0 % 251) }
        try socket.send(datagram)
        #expect(await receiver.nextBytes() == datagram)
        #expect(DatagramSocket(path: String(repeating: "x", count: 108)) == nil)
    }

    @Test("a full queue of a program that does not read fails the send at once")
    func fullQueue() throws {
        let path = self.folder.file("log")
        let receiver = try DatagramReceiver(path)
        let socket = try #require(DatagramSocket(path: path))
        // A queue of Unix datagrams holds a fixed number of them (unix(7), max_dgram_qlen), at most a few hundred.
        #expect(throws: FileError.self) { for _ in 0..<100_000 { try socket.send([1]) } }
        withExtendedLifetime(receiver) {}
    }
}
