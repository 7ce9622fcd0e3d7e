/// The flows that are under way, the present one on top, each with the screen it shows or has shown last.
struct FlowStack: Sendable {
    private struct Frame {
        var flow: any Flow
        var scene: Scene?
    }

    private var frames: [Frame] = []

    var isEmpty: Bool { self.frames.isEmpty }

    /// The present flow.
    var top: (any Flow)? { self.frames.last?.flow }

    /// The present flow's screen; nil before its first one.
    var scene: Scene? { self.frames.last?.scene }

    mutating func push(_ flow: any Flow) {
        self.frames.append(Frame(flow: flow))
    }

    mutating func removeAll() {
        self.frames = []
    }

    /// Takes the present flow away.
    mutating func pop() {
        if !self.frames.isEmpty { self.frames.removeLast() }
    }

    /// Takes the present flow away and every one below that has no screen to return to.
    mutating func popToScene() {
        self.pop()
        while let last = self.frames.last, last.scene == nil { self.frames.removeLast() }
    }

    /// Notes what the present flow shows.
    mutating func show(_ scene: Scene) {
        guard let top = self.frames.indices.last else { return }
        self.frames[top].scene = scene
    }

    /// Hands an event to the present flow; nil where there is none.
    mutating func tell(_ event: (inout any Flow) -> Transition) -> Transition? {
        guard let top = self.frames.indices.last else { return nil }
        return event(&self.frames[top].flow)
    }

    /// Ends what must not outlive the lock: everything from the lowest such flow upward.
    mutating func endConfirmations() {
        guard let lowest = self.frames.firstIndex(where: { $0.flow.endsWithLock }) else { return }
        self.frames.removeSubrange(lowest...)
        while let last = self.frames.last, last.scene == nil { self.frames.removeLast() }
    }

    /// Whether a PIN is kept for whoever tries again.
    var keepsPIN: Bool { self.validation != nil }

    private var validation: Int? {
        self.frames.lastIndex { frame in (frame.flow as? ValidatePIN)?.keepsPIN == true }
    }

    /// Ends the flow that keeps a PIN, with everything that it called; whether there was one.
    mutating func endValidation() -> Bool {
        guard let validation = self.validation else { return false }
        self.frames.removeSubrange(validation...)
        return true
    }

    /// Whether a flow stands here that nothing leads past: a rooted device, a blocked version, a revocation.
    var isBeforeLock: Bool {
        self.frames.contains { frame in frame.flow.place == .beforeLock }
    }

    /// Whether the app asks for the PIN, or shows what that led to.
    var isAtLock: Bool {
        self.frames.contains { frame in frame.flow.place == .atLock }
    }

    /// Whether the present screen is one that only an unlocked app may show.
    var isBehindLock: Bool {
        guard let last = self.frames.lastIndex(where: { $0.flow.place != .anywhere }) else { return false }
        return self.frames[last].flow.place == .behindLock
    }
}
