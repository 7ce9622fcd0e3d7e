/// The responses that are not yet placed in every possible order, sorted by the time at which their operations were
/// sent.
struct Backlog: Sendable {
    private var all: [SentOperation] = []
    /// The index of the first such response.
    ///
    /// All responses before it have been placed.
    private var start = 0
    /// The responses to judged attempts, by number.
    private var byNumber: [UInt64: SentOperation] = [:]

    var operations: ArraySlice<SentOperation> { self.all[self.start...] }

    func judged(_ number: UInt64) -> SentOperation? { self.byNumber[number] }

    mutating func insert(_ operation: SentOperation) {
        let index = self.operations.lastIndex { $0.began < operation.began }.map { $0 + 1 } ?? self.start
        self.all.insert(operation, at: index)
        if operation.isJudged, let number = operation.place?.number { self.byNumber[number] = operation }
    }

    /// Removes responses from the front while they are placed in all of these orders.
    mutating func removePlaced(in linearizations: inout [Linearization]) {
        while self.start < self.all.count, linearizations.allSatisfy({ $0.hasPlaced(self.all[self.start]) }) {
            let operation = self.all[self.start]
            self.start += 1
            if operation.isJudged, let number = operation.place?.number {
                self.byNumber[number] = nil
            } else {
                for index in linearizations.indices { linearizations[index].placed.remove(operation.id) }
            }
        }
        if self.start > 64, self.start * 2 > self.all.count {
            self.all.removeFirst(self.start)
            self.start = 0
        }
    }
}
