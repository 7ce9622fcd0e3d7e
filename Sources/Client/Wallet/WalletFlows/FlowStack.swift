/// The active flows, with the current one on top, and the dialog that each of them has shown last.
struct FlowStack: Sendable {
    private struct Frame {
        var flow: any Flow
        var dialog: Dialog?
        /// Whether the flow replaces one that was ended by the lock.
        ///
        /// Its entry action follows after the unlock.
        var isRestarted = false

        /// Whether there is something to return to.
        var canReturn: Bool { self.dialog != nil || self.isRestarted }
    }

    private var frames: [Frame] = []

    var isEmpty: Bool { self.frames.isEmpty }

    /// The current flow.
    var top: (any Flow)? { self.frames.last?.flow }

    /// The current flow's dialog, or nil if it has not shown one yet.
    ///
    /// If the flow was ended by the lock and will be restarted, this is the last dialog below it.
    var dialog: Dialog? {
        guard let top = self.frames.last, top.isRestarted else { return self.frames.last?.dialog }
        return self.frames.last { $0.dialog != nil }?.dialog
    }

    mutating func push(_ flow: any Flow) {
        self.frames.append(Frame(flow: flow))
    }

    mutating func removeAll() {
        self.frames = []
    }

    /// Removes the current flow.
    mutating func pop() {
        if !self.frames.isEmpty { self.frames.removeLast() }
    }

    /// Removes the current flow and any flows below it that have no screen to return to.
    mutating func popToScene() {
        self.pop()
        self.popWithoutScene()
    }

    /// Replaces the current flow with its next state.
    mutating func replaceTop(_ flow: any Flow) {
        guard let top = self.frames.indices.last else { return }
        self.frames[top].flow = flow
    }

    /// Records the dialog shown by the current flow.
    mutating func show(_ dialog: Dialog) {
        guard let top = self.frames.indices.last else { return }
        self.frames[top].dialog = dialog
    }

    /// Ends the flows that must not survive the lock: the lowest such flow and everything above it.
    mutating func endConfirmations() {
        guard let lowest = self.frames.firstIndex(where: { $0.flow.endsWithLock }) else { return }
        let restart = self.frames[lowest].flow.restart
        self.frames.removeSubrange(lowest...)
        if let restart {
            self.frames.append(Frame(flow: restart, isRestarted: true))
        } else {
            self.popWithoutScene()
        }
    }

    /// Returns true once if the current flow is starting again after a lock.
    mutating func takeRestart() -> Bool {
        guard let top = self.frames.indices.last, self.frames[top].isRestarted else { return false }
        self.frames[top].isRestarted = false
        return true
    }

    private mutating func popWithoutScene() {
        while let last = self.frames.last, !last.canReturn { self.frames.removeLast() }
    }

    /// Whether a PIN is kept for another try.
    var keepsPIN: Bool { self.validation != nil }

    private var validation: Int? {
        self.frames.lastIndex { frame in (frame.flow as? ValidatePIN)?.keepsPIN == true }
    }

    /// Ends the flow that keeps a PIN, along with all flows it has called.
    ///
    /// Returns whether such a flow was active.
    mutating func endValidation() -> Bool {
        guard let validation = self.validation else { return false }
        self.frames.removeSubrange(validation...)
        return true
    }

    /// Whether the user is asked to confirm an action of the host application.
    var isConfirmingForHost: Bool { self.frames.contains { $0.flow is ConfirmForHost } }

    /// Whether a flow is active that the user cannot get past: a rooted device, a blocked version, or a revocation.
    var isBeforeLock: Bool {
        self.frames.contains { frame in frame.flow.place == .beforeLock }
    }

    /// Whether the app is asking for the PIN or showing a screen that resulted from it.
    var isAtLock: Bool {
        self.frames.contains { frame in frame.flow.place == .atLock }
    }

    /// Whether the current screen may only be shown while the app is unlocked.
    var isBehindLock: Bool {
        guard let last = self.frames.lastIndex(where: { $0.flow.place != .anywhere }) else { return false }
        return self.frames[last].flow.place == .behindLock
    }
}
