/// A way in which a flood connection misbehaves.
package enum FloodKind: String, CaseIterable, Sendable {
    /// Connects and sends nothing.
    case halfOpen = "half-open"
    /// Sends a TLS client hello one byte at a time.
    case slow
    /// Sends random bytes immediately.
    case garbage
    /// Sends a complete client hello and then stalls.
    ///
    /// By then, the server has performed a key agreement and a signature.
    case hello
    /// Connects and closes the connection immediately.
    case churn

    /// Whether the flood closes the connection as soon as it is open.
    var closesAtOnce: Bool { self == .churn }
}

/// The plan for a flood.
package struct FloodPlan: Sendable {
    /// The kinds of successive connections.
    ///
    /// A kind may occur more than once.
    package var kinds: [FloodKind]
    /// The local addresses to connect from.
    ///
    /// If nil, the system chooses.
    package var sources: SourceNetwork?
    /// The number of new connections per second.
    package var rate: Double
    /// The maximum number of open connections.
    ///
    /// Once it is reached, each new connection closes the oldest one.
    package var held: Int
    package var duration: Duration
    /// The pause between two bytes on a slow connection.
    package var pause: Duration = .milliseconds(500)

    package init(kinds: [FloodKind], sources: SourceNetwork?, rate: Double, held: Int, duration: Duration) {
        self.kinds = kinds
        self.sources = sources
        self.rate = rate
        self.held = held
        self.duration = duration
    }
}

/// An IPv4 network of local addresses, 127.0.0.0/8 or part of it.
package struct SourceNetwork: Hashable, Sendable, CustomStringConvertible {
    private let base: UInt32
    private let prefixLength: Int

    /// Parses a network such as `127.0.0.0/16`.
    ///
    /// Fails if it is not in the loopback range or has host bits set.
    package init?(_ text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        let octets = parts.first?.split(separator: ".", omittingEmptySubsequences: false).compactMap { UInt8($0) } ?? []
        guard parts.count <= 2, octets.count == 4, octets[0] == 127 else { return nil }
        guard let length = parts.count == 2 ? Int(parts[1]) : 32, (8...32).contains(length) else { return nil }
        self.base = octets.reduce(0) { $0 << 8 | UInt32($1) }
        self.prefixLength = length
        guard self.base & self.hostMask == 0 else { return nil }
    }

    private var hostMask: UInt32 { self.prefixLength == 32 ? 0 : UInt32.max >> UInt32(self.prefixLength) }

    /// Returns a random address in the network.
    package func address(using generator: inout some RandomNumberGenerator) -> String {
        let number = self.base | UInt32.random(in: 0...self.hostMask, using: &generator)
        return Self.text(number)
    }

    private static func text(_ number: UInt32) -> String {
        stride(from: 24, through: 0, by: -8).map { "\(number >> UInt32($0) & 0xFF)" }.joined(separator: ".")
    }

    package var description: String { "\(Self.text(self.base))/\(self.prefixLength)" }
}
