internal import Synchronization
internal import WalletStore

/// Whether the parts of a process without which nobody is served still answer.
///
/// Each part is asked, and not asked again before it has answered. Nothing waits for an answer: a part that is stuck keeps
/// the others' answers from nobody, and itself from being called alive.
public final class Heartbeat: Sendable {
    /// Something that can get stuck.
    public struct Part: Sendable {
        /// For the log.
        public var name: String
        /// Returns when the part has answered.
        public var answer: @Sendable () async -> Void

        public init(_ name: String, answer: @escaping @Sendable () async -> Void) {
            self.name = name
            self.answer = answer
        }
    }

    private let parts: [Part]
    /// Those that were asked and have not answered, by their places.
    private let silent = Mutex<Set<Int>>([])
    /// How often a silent part is looked at within one interval.
    private static let looks = 10

    public init(_ parts: [Part]) {
        self.parts = parts
    }

    /// Asks all parts at each interval and says `alive` each time that all have answered since the last one.
    ///
    /// Returns when cancelled, at the latest when the parts that were asked have answered.
    ///
    /// - Parameter stuck: told once for each silence which parts did not answer for a whole interval.
    public func watch(
        every interval: Duration,
        alive: @escaping @Sendable () -> Void,
        stuck: @escaping @Sendable ([String]) -> Void
    ) async {
        await withDiscardingTaskGroup { group in
            while !Task.isCancelled {
                alive()
                for (place, part) in self.parts.enumerated() {
                    self.silent.withLock { _ = $0.insert(place) }
                    group.addTask {
                        await part.answer()
                        self.silent.withLock { _ = $0.remove(place) }
                    }
                }
                guard (try? await Task.sleep(for: interval)) != nil else { return }
                if !self.silentParts.isEmpty { stuck(self.silentParts) }
                while !self.silentParts.isEmpty {
                    guard (try? await Task.sleep(for: interval / Self.looks)) != nil else { return }
                }
            }
        }
    }

    private var silentParts: [String] {
        self.silent.withLock { silent in silent.sorted().map { self.parts[$0].name } }
    }
}

extension RemotePINServer {
    /// What must answer for the server to be called alive: the threads of connections and the one of the store.
    ///
    /// A store that answers that its disk is full has answered: to be started anew would not help it.
    public func heartbeat(eventLoops: @escaping @Sendable () async -> Void) -> Heartbeat {
        let store = self.services.store
        return Heartbeat([
            Heartbeat.Part("event loops", answer: eventLoops),
            Heartbeat.Part("store") { _ = try? await store.isSolutionRevoked() },
        ])
    }
}
