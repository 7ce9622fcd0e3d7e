/// How a connection of a flood misbehaves.
package enum FloodKind: String, CaseIterable, Sendable {
    /// Connects and says nothing.
    case halfOpen = "half-open"
    /// Begins a TLS handshake, a byte at a time.
    case slow
    /// Says random bytes at once.
    case garbage
    /// Says a whole client hello and then nothing: the server has agreed on a key and signed by then.
    case hello
    /// Connects and leaves at once.
    case churn

    /// Whether it ends by itself.
    var leavesAtOnce: Bool { self == .churn }
}

/// What a flood is asked to be.
package struct FloodPlan: Sendable {
    /// In turn, each as often as it is named.
    package var kinds: [FloodKind]
    /// Addresses of this machine that connections come from; nil for the system's choice.
    package var sources: SourceNetwork?
    /// Connections begun a second.
    package var rate: Double
    /// Connections at a time; beyond it the oldest is let go for each new one.
    package var held: Int
    package var duration: Duration
    /// Between two bytes of a slow one.
    package var pause: Duration = .milliseconds(500)

    package init(kinds: [FloodKind], sources: SourceNetwork?, rate: Double, held: Int, duration: Duration) {
        self.kinds = kinds
        self.sources = sources
        self.rate = rate
        self.held = held
        self.duration = duration
    }
}

/// An IPv4 network whose addresses are all this machine's: 127.0.0.0/8 or a part of it.
package struct SourceNetwork: Hashable, Sendable, CustomStringConvertible {
    private let base: UInt32
    private let prefixLength: Int

    /// Reads `127.0.0.0/16`; nil for what is not loopback, or has bits behind its prefix.
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

    /// One of its addresses.
    package func address(using generator: inout some RandomNumberGenerator) -> String {
        let number = self.base | UInt32.random(in: 0...self.hostMask, using: &generator)
        return Self.text(number)
    }

    private static func text(_ number: UInt32) -> String {
        stride(from: 24, through: 0, by: -8).map { "\(number >> UInt32($0) & 0xFF)" }.joined(separator: ".")
    }

    package var description: String { "\(Self.text(self.base))/\(self.prefixLength)" }
}
