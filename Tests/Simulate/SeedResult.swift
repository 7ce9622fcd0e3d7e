internal import Foundation

/// The result of a seed, as a child process tells it to the supervisor.
struct SeedResult: Codable {
    let walletDays: Int
    let unlocks: Int
    /// Microseconds of processor time.
    let cpu: Int
    /// The hash of all events.
    let trace: String
    /// The number of faults that were injected, by kind.
    let faults: [String: Int]
    let violation: String?

    /// The result as one line.
    var text: String {
        // Only numbers and texts, so encoding cannot fail.
        (try? JSONEncoder().encode(self)).map { String(decoding: $0, as: UTF8.self) } ?? ""
    }
}
