import Foundation
import TestSupport
import Testing

@testable import WalletStore

@Suite("The queue of steps for the next commit")
struct CommitQueueTests {
    /// Longer than any test: a batch that waits so long never comes.
    private static let forever = Duration.seconds(100_000)

    @Test("a batch waits for the steps that are on their way, and takes all of them")
    func gathers() async throws {
        let queue = CommitQueue(longestGathering: Self.forever)
        for _ in 0..<2 { queue.expected.begin() }
        let size = try await Self.sizeOfNextBatch(of: queue, after: Self.forever) {
            try await Self.enqueue(on: queue, until: 1)
            try await poll { queue.isGathering }
            queue.expected.end()
            try await Self.enqueue(on: queue, until: 2)
            queue.expected.end()
            try await Self.enqueue(on: queue, until: nil)
        }
        #expect(size == 3)
    }

    @Test("a lone step waits for nothing")
    func alone() async throws {
        let queue = CommitQueue(longestGathering: Self.forever)
        let size = try await Self.sizeOfNextBatch(of: queue, after: Self.forever) {
            try await Self.enqueue(on: queue, until: nil)
        }
        #expect(size == 1)
    }

    @Test(
        "a batch waits for an expected step that never comes no longer than the previous batch took, or the limit",
        arguments: [(.zero, Self.forever), (.microseconds(1), Self.forever), (Self.forever, .microseconds(1))]
            as [(Duration, Duration)]
    )
    func givesUp(previous: Duration, limit: Duration) async throws {
        let queue = CommitQueue(longestGathering: limit)
        queue.expected.begin()
        let size = try await Self.sizeOfNextBatch(of: queue, after: previous) {
            try await Self.enqueue(on: queue, until: nil)
        }
        #expect(size == 1)
    }

    @Test("a full batch waits for no further step")
    func full() async throws {
        let queue = CommitQueue(longestGathering: Self.forever)
        queue.expected.begin()
        let size = try await Self.sizeOfNextBatch(of: queue, after: Self.forever) {
            for number in 1..<CommitQueue.largestBatch { try await Self.enqueue(on: queue, until: number) }
            try await Self.enqueue(on: queue, until: nil)
        }
        #expect(size == CommitQueue.largestBatch)
    }

    @Test("a step that only reads waits for no step on its way, and joins the batch if it must write")
    func reads() async throws {
        let queue = CommitQueue(longestGathering: Self.forever)
        queue.expected.begin()
        let none = try await Self.sizeOfNextBatch(of: queue, after: Self.forever, answersReads: true) {
            await #expect(throws: StoreError.corrupt) { try await Self.read(queue) }
            queue.close()
        }
        #expect(none == 0)
        let other = CommitQueue()
        let one = try await Self.sizeOfNextBatch(of: other, after: .zero, answersReads: false) {
            await #expect(throws: StoreError.unavailable) { try await Self.read(other) }
        }
        #expect(one == 1)
    }

    @Test("a step that only reads is answered before the batch, even if it arrives while the batch waits for others")
    func lateRead() async throws {
        let queue = CommitQueue(longestGathering: Self.forever)
        queue.expected.begin()
        let size = try await Self.sizeOfNextBatch(of: queue, after: Self.forever, answersReads: true) {
            try await Self.enqueue(on: queue, until: 1)
            try await poll { queue.isGathering }
            Task { try? await Self.read(queue) }
            try await poll { queue.count >= 2 }
            queue.expected.end()
            try await Self.enqueue(on: queue, until: nil)
        }
        #expect(size == 2 && queue.count == 0)
    }

    private static func read(_ queue: CommitQueue) async throws(StoreError) {
        try await queue.perform(reading: { _ in () }, otherwise: { _ in })
    }

    /// Takes a batch on a thread, as the store does, while `body` runs.
    private static func sizeOfNextBatch(
        of queue: CommitQueue,
        after previous: Duration,
        answersReads: Bool = false,
        while body: () async throws -> Void
    ) async throws -> Int {
        let (sizes, size) = AsyncStream.makeStream(of: Int.self)
        Thread {
            let batch =
                queue.nextBatch(after: previous) { step in
                    if answersReads { step.refuse(.corrupt) }
                    return answersReads
                } ?? []
            for step in batch { step.refuse(.unavailable) }
            size.yield(batch.count)
            size.finish()
        }.start()
        try await body()
        for await size in sizes { return size }
        return 0
    }

    /// Enqueues a step; returns once that many steps wait, if a number is given.
    private static func enqueue(on queue: CommitQueue, until count: Int?) async throws {
        Task { try? await queue.perform { _ in } }
        if let count { try await poll { queue.count >= count } }
    }
}
