internal import HostSystem
internal import Logging
internal import PKCS11
internal import ServerSettings
internal import Synchronization
internal import Vocabulary

/// The keys of one token for several threads, and the reactions to failures of the module (``TokenError/Reaction``).
///
///     open ──renew──▶ closed, opened again at once; the request is repeated once
///     open ──later──▶ closed, opened again by the first request after 1, 2, 4 … 30 s
///     any state ──the PIN is rejected──▶ the process ends
final class TokenKeys: Sendable {
    private struct State {
        /// The free sessions, or nil while closed.
        var sessions: [UInt]?
        /// The handles of sound keys.
        var handles: [KeyLabel: UInt] = [:]
        /// The slot of the last opening.
        var slot: UInt?
        /// Counts the openings, so that a late failure of an earlier one does not close a later one.
        var opening = 0
        /// The number of threads that may be inside a call of the module.
        var inside = 0
        var delay = TokenKeys.shortestDelay
        var retry = ContinuousClock.now

        mutating func close() {
            self.sessions = nil
            self.retry = .now + self.delay
            self.delay = min(self.delay * 2, TokenKeys.longestDelay)
        }
    }

    /// A session in use by one thread.
    private struct Lease {
        let opening: Int
        let session: UInt
        let handle: UInt?
    }

    /// The time of the next attempt to open the token has not come yet.
    private struct Closed: Error {}

    /// A key is in the token, but must not be used.
    private struct UnsoundKey: Error { let fault: String }

    private static let shortestDelay: Duration = .seconds(1)
    private static let longestDelay: Duration = .seconds(30)

    private let options: TokenOptions
    private let module: TokenModule
    private let sessionCount: Int
    private let log: Logger
    private let state = Mutex(State())

    init(_ options: TokenOptions, _ module: TokenModule, sessions: Int, log: Logger) {
        (self.options, self.module, self.sessionCount, self.log) = (options, module, sessions, log)
    }

    var isOpen: Bool { self.state.withLock { $0.sessions != nil } }

    /// The time until a request makes the next attempt to open the token.
    var wait: Duration { self.state.withLock { max(.zero, $0.retry - .now) } }

    /// Opens the token, or closes and opens it again; returns the keys.
    ///
    /// - Throws: A ``StartFailure``; of the kind `unavailable` if a later attempt may succeed.
    @discardableResult
    func open() throws -> [FoundKey] { try self.state.withLock { try self.open(&$0) } }

    /// Returns the answer to a request, as in the protocol, without its end.
    func answer(_ message: [UInt8], _ label: KeyLabel) -> String {
        do {
            for isLast in [false, true] {
                guard let lease = try self.state.withLock({ try self.begin(&$0, label) }) else { return "busy 20" }
                do {
                    defer { self.state.withLock { $0.inside -= 1 } }
                    guard let handle = try lease.handle ?? self.find(label, lease) else {
                        self.finish(lease)
                        return "unknown"
                    }
                    let code = try self.module.code(of: message, key: handle, in: lease.session)
                    self.finish(lease)
                    return "ok \(code.hex)"
                } catch let error as TokenError {
                    let isRepeated = error.reaction == .renew && !isLast
                    self.fail(lease, closing: !isRepeated)
                    if !isRepeated { throw self.options.failure(error) }
                    self.log.notice("the token is opened again", metadata: ["reason": "\(error)"])
                }
            }
        } catch let unsound as UnsoundKey {
            self.log.error("a key is not used", metadata: ["reason": "\(unsound.fault)"])
            return "failed key"
        } catch is Closed {
        } catch {
            self.note(error)
        }
        return "failed module"
    }

    /// Logs a failure to use the token, or ends the process after it.
    func note(_ error: any Error) {
        guard let failure = error as? StartFailure, failure.kind != .unavailable else {
            let metadata: Logger.Metadata = ["reason": "\(error)", "next": "\(self.wait.spoken)"]
            return self.log.error("the token cannot be used", metadata: metadata)
        }
        // Other threads may be inside the module, so it is not finalized.
        self.log.critical("ending", metadata: ["reason": "\(failure)"])
        ProcessEnd.atOnce(status: failure.kind.rawValue)
    }

    /// Takes a session, and opens the token before if it is closed and the time has come.
    private func begin(_ state: inout State, _ label: KeyLabel) throws -> Lease? {
        if state.sessions == nil {
            guard state.retry <= .now else { throw Closed() }
            _ = try self.open(&state)
        }
        guard let session = state.sessions?.popLast() else { return nil }
        state.inside += 1
        return Lease(opening: state.opening, session: session, handle: state.handles[label])
    }

    /// Returns a session after use.
    private func finish(_ lease: Lease) {
        self.state.withLock { state in
            guard state.opening == lease.opening else { return }
            state.sessions?.append(lease.session)
            state.delay = Self.shortestDelay
        }
    }

    /// Closes the token after a failed call: until the next delay is over, or only until the next request.
    private func fail(_ lease: Lease, closing: Bool) {
        self.state.withLock { state in
            guard state.opening == lease.opening, state.sessions != nil else { return }
            if closing { state.close() } else { state.sessions = nil }
        }
    }

    private func open(_ state: inout State) throws -> [FoundKey] {
        state.opening += 1
        // A failure below delays the next attempt.
        let delay = state.delay
        state.close()
        // The module must not be finalized under a thread that is inside it.
        let isFree = state.inside == 0
        if isFree { self.module.finalize() } else if let slot = state.slot { self.module.closeAllSessions(slot) }
        let token = try self.options.open(self.module, sessions: self.sessionCount, isInitialized: !isFree)
        (state.slot, state.sessions, state.delay, state.retry) = (token.token.slot, token.sessions, delay, .now)
        if token.sessions.count < self.sessionCount {
            self.log.warning("the token allows fewer sessions", metadata: ["sessions": "\(token.sessions.count)"])
        }
        state.handles = [:]
        for found in token.found {
            guard let label = KeyLabel(inToken: found.key.label) else { continue }
            if let fault = found.fault {
                self.log.error("a key is not used", metadata: ["reason": "\(fault)"])
                continue
            }
            state.handles[label] = found.key.handle
            if found.key.wasOutside {
                self.log.warning("a key has been outside the token", metadata: ["key": "\(label)"])
            }
        }
        return token.found
    }

    /// Looks for a key that was made after the token was opened.
    private func find(_ label: KeyLabel, _ lease: Lease) throws -> UInt? {
        let keys = try self.module.keys(label.inToken, in: lease.session)
        guard !keys.isEmpty else { return nil }
        let found = FoundKey(keys)
        if let fault = found.fault {
            self.finish(lease)
            throw UnsoundKey(fault: fault)
        }
        self.state.withLock { if $0.opening == lease.opening { $0.handles[label] = found.key.handle } }
        return found.key.handle
    }
}
