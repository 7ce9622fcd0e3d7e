internal import DictionaryStore
internal import PINPolicy
internal import WalletStore

/// The contents of stores, numbered, with each step on them; every step is computed once.
final class StoredRows {
    private struct Step: Hashable {
        let contents: Int32
        let node: Int32
    }

    /// The reply of a step, the number of the rows after it, and whether the reply waits for a commit.
    typealias Outcome = (reply: Reply, contents: Int32, commits: Bool)

    private struct Restore: Hashable {
        let contents: Int32
        let time: Int8
        let isEnded: Bool
        let isBlocked: Bool
    }

    private let steps: StoreSteps
    private(set) var transitions: Set<RowTransition> = []
    private var all: [DictionaryTables] = []
    private var facts: [Facts] = []
    private var numbers: [DictionaryTables: Int32] = [:]
    private var done: [Step: Outcome] = [:]
    private var restored: [Restore: Int32] = [:]

    init(_ steps: StoreSteps) {
        self.steps = steps
    }

    var count: Int { self.all.count }

    func number(of contents: DictionaryTables) throws -> Int32 {
        if let number = self.numbers[contents] { return number }
        let number = Int32(self.all.count)
        self.all.append(contents)
        self.facts.append(try self.steps.facts(in: contents))
        self.numbers[contents] = number
        return number
    }

    func facts(in contents: Int32) -> Facts { self.facts[Int(contents)] }

    /// Carries out the step that a connection's call waits for.
    func run(_ operation: Operation, of node: Int32, on contents: Int32) throws -> Outcome {
        let step = Step(contents: contents, node: node)
        if let done = self.done[step] { return done }
        let result: Outcome
        do {
            let (reply, after, commits) = try self.steps.run(operation, on: self.all[Int(contents)])
            result = (reply, try self.number(of: after), commits)
        } catch is StoreError {
            throw Violation(text: "a step leaves rows that cannot be read")
        }
        self.done[step] = result
        let (before, after) = (self.facts(in: contents), self.facts(in: result.contents))
        let waits = result.commits && self.steps.isShared
        let right = self.steps.rightKey(in: before)
        if let transition = try RowTransition(operation, result.reply, before, after, right: right, commits: waits) {
            self.transitions.insert(transition)
        }
        return result
    }

    func note(_ transition: RowTransition) { self.transitions.insert(transition) }

    func restore(_ contents: Int32, rule: EpochRule, at time: Int8, isEnded: Bool, isBlocked: Bool) throws -> Int32 {
        let restore = Restore(contents: contents, time: time, isEnded: isEnded, isBlocked: isBlocked)
        if let number = self.restored[restore] { return number }
        let after = try self.steps.restore(
            self.all[Int(contents)],
            rule: rule,
            at: ServerRun.time(time),
            isEnded: isEnded,
            isBlocked: isBlocked
        )
        let number = try self.number(of: after)
        self.restored[restore] = number
        return number
    }
}
