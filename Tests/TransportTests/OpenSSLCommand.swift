import Foundation
import Synchronization
import TestSupport
import Testing
import Vocabulary

/// A running `openssl` command.
///
/// One thread starts it, reads its output and waits for its end: Foundation needs all of that on
/// one run loop.
final class OpenSSLCommand: Sendable {
    private struct Output {
        var text = ""
        var processID: Int32?
    }

    private let input = Pipe()
    private let output = Mutex(Output())
    private let changed: AsyncStream<Void>
    private let change: AsyncStream<Void>.Continuation

    init(_ arguments: [String]) {
        (self.changed, self.change) = AsyncStream.makeStream()
        Thread.detachNewThread { [self] in
            self.run(arguments)
            self.change.finish()
        }
    }

    private func run(_ arguments: [String]) {
        let (process, pipe) = (Process(), Pipe())
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["openssl"] + arguments
        process.standardInput = self.input
        process.standardOutput = pipe
        process.standardError = pipe
        guard (try? process.run()) != nil else { return }
        self.output.withLock { $0.processID = process.processIdentifier }
        while true {
            let data = pipe.fileHandleForReading.availableData
            if data.isEmpty { break }
            self.output.withLock { $0.text += String(decoding: data, as: UTF8.self) }
            self.change.yield()
        }
        process.waitUntilExit()
        // Foundation would never close them.
        for handle in [pipe.fileHandleForReading, self.input.fileHandleForWriting] { try? handle.close() }
    }

    /// Waits until the output contains a match and returns it; nil if the output ends without one.
    ///
    /// One task at a time may wait.
    func find<Match>(_ pattern: Regex<Match>) async -> Match? {
        if let match = self.text.firstMatch(of: pattern) { return match.output }
        for await _ in self.changed {
            if let match = self.text.firstMatch(of: pattern) { return match.output }
        }
        return self.text.firstMatch(of: pattern)?.output
    }

    /// Waits until the output contains a word a number of times; returns false if it ends with fewer.
    ///
    /// One task at a time may wait.
    func prints(_ word: String, times: Int) async -> Bool {
        func isPrinted() -> Bool { self.text.ranges(of: word).count >= times }
        if isPrinted() { return true }
        for await _ in self.changed where isPrinted() { return true }
        return isPrinted()
    }

    /// The port on which an `s_server` with port 0 listens.
    func listeningPort() async throws -> Int {
        let match = try #require(await self.find(/ACCEPT 127\.0\.0\.1:([0-9]+)/))
        return try #require(Int(match.1))
    }

    /// The output so far.
    var text: String { self.output.withLock { $0.text } }

    func write(_ bytes: [UInt8]) throws {
        try self.input.fileHandleForWriting.write(contentsOf: Data(bytes))
    }

    func closeInput() throws {
        try self.input.fileHandleForWriting.close()
    }

    /// Kills the process.
    func end() {
        if let processID = self.output.withLock({ $0.processID }) { kill(processID, SIGKILL) }
    }

    /// Runs to the end and returns the output.
    static func run(_ arguments: [String]) async throws -> String {
        let command = OpenSSLCommand(arguments)
        try command.closeInput()
        for await _ in command.changed {}
        return command.text
    }
}

extension TestCertificates {
    /// SHA-256 of the server's SubjectPublicKeyInfo, computed with the `openssl` command.
    func publicKeyDigest() async throws -> SHA256Digest {
        let key = try await OpenSSLCommand.run(["x509", "-in", self.certificatePath, "-noout", "-pubkey"])
        let keyPath = try self.folder.write(key, to: "public.pem")
        let der = "\(self.folder.path)/public.der"
        _ = try await OpenSSLCommand.run(["pkey", "-pubin", "-in", keyPath, "-outform", "DER", "-out", der])
        let digest = try await OpenSSLCommand.run(["dgst", "-sha256", "-r", der])
        return try #require(SHA256Digest(hex: String(digest.prefix(64))))
    }
}
