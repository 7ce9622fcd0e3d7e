internal import Dispatch
internal import HostSystem
internal import Logging
internal import PKCS11
internal import Secrets
internal import ServerSettings
internal import Synchronization
internal import Vocabulary

/// The keys of one token for several threads, and the reactions to failures of the module (``TokenError/Reaction``).
///
///     open ──renew──▶ closed, opened again at once; the request is repeated once
///     open ──later──▶ closed, opened again by the first request after 1, 2, 4 … 30 s
///     any state ──the PIN is rejected, or a label has another key──▶ the process ends
///
/// The token is opened again only when no thread is inside the module, so no thread uses a session or a handle of an
/// earlier opening.
final class TokenKeys: Sendable {
    private struct State {
        /// The free sessions, or nil while closed.
        var sessions: [UInt]?
        /// The handles of the keys that were used before, since the last opening.
        var handles: [KeyLabel: UInt] = [:]
        /// The check digits of each key at its first use.
        var checks: [KeyLabel: String] = [:]
        /// The serial number of the token at the last opening; nil before the first one.
        var serial: String?
        /// Counts the attempts to open the token.
        var openings = 0
        /// The number of threads that may be inside a call of the module.
        var inside = 0
        /// The threads that wait until another one leaves.
        var waiting: [DispatchSemaphore] = []
        var delay = TokenKeys.shortestDelay
        var retry = ContinuousClock.now

        mutating func close() {
            self.sessions = nil
            self.retry = .now + self.delay
            self.delay = min(self.delay * 2, TokenKeys.longestDelay)
        }

        mutating func leave() {
            self.inside -= 1
            for turn in self.waiting { turn.signal() }
            self.waiting = []
        }

        /// Allows the use of a key.
        ///
        /// Threat: the server compares the keys' check digits once for each connection. If another token was opened
        /// meanwhile, or a key was made again, values would be sealed with a key that no key file names.
        mutating func use(_ key: TokenKey, as label: KeyLabel, _ check: String) throws {
            let known = self.checks[label, default: check]
            // rule: vault-daemon-other-token
            guard known == check else {
                throw StartFailure(
                    .configuration,
                    "\(key.label) has other check digits than at its first use, \(check) instead of \(known): bring "
                        + "back the token or the key that the server's key file names, and start the daemon again"
                )
            }
            self.checks[label] = check
            self.handles[label] = key.handle
        }
    }

    /// A session in use by one thread.
    private struct Lease {
        let session: UInt
        let handle: UInt?
    }

    /// The time of the next attempt to open the token has not come yet.
    private struct Closed: Error {}

    /// A key is in the token, but must not be used.
    private struct UnsoundKey: Error { let fault: String }

    /// The token stays open as it is, because it cannot be opened again.
    private struct KeptOpen: Error { let reason: String }

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
    func open() throws -> [FoundKey] {
        let before = self.state.withLock { $0.openings }
        return try self.waiting { state in
            // A request may have done so meanwhile. There is no second attempt, which a rejected PIN must not have.
            guard state.openings == before else { return [] }
            let pin = try self.pin(&state)
            state.sessions = nil
            guard state.inside == 0 else { return nil }
            return try self.open(&state, pin)
        }
    }

    /// Returns the answer to a request, as in the protocol, without its end.
    func answer(_ message: [UInt8], _ label: KeyLabel) -> String {
        do {
            for isLast in [false, true] {
                let lease = try self.begin(label)
                do {
                    guard let handle = try lease.handle ?? self.find(label, lease) else {
                        self.finish(lease)
                        return "unknown"
                    }
                    let code = try self.module.code(of: message, key: handle, in: lease.session)
                    self.finish(lease)
                    return "ok \(code.hex)"
                } catch let unsound as UnsoundKey {
                    self.finish(lease)
                    self.log.error("a key is not used", metadata: ["reason": "\(unsound.fault)"])
                    return "failed key"
                } catch {
                    let failed = error as? TokenError
                    let isRepeated = failed?.reaction == .renew && !isLast
                    self.fail(closing: !isRepeated)
                    if !isRepeated { throw failed.map(self.options.failure) ?? error }
                    self.log.notice("the token is opened again", metadata: ["reason": "\(error)"])
                }
            }
        } catch is Closed {
        } catch {
            self.note(error)
        }
        return "failed module"
    }

    /// Logs a failure to use the token, or ends the process after it.
    func note(_ error: any Error) {
        if let kept = error as? KeptOpen {
            return self.log.error("the token stays open as it is", metadata: ["reason": "\(kept.reason)"])
        }
        guard let failure = error as? StartFailure, failure.kind != .unavailable else {
            let metadata: Logger.Metadata = ["reason": "\(error)", "next": "\(self.wait.spoken)"]
            return self.log.error("the token cannot be used", metadata: metadata)
        }
        // Other threads may be inside the module, so it is not finalized.
        self.log.critical("ending", metadata: ["reason": "\(failure)"])
        ProcessEnd.atOnce(status: failure.kind.rawValue)
    }

    /// Calls `body` until it returns a value, each time after a thread has left the module.
    private func waiting<Value: Sendable>(for body: (inout State) throws -> Value?) throws -> Value {
        while true {
            let turn = DispatchSemaphore(value: 0)
            let value = try self.state.withLock { state in
                let value = try body(&state)
                if value == nil { state.waiting.append(turn) }
                return value
            }
            if let value { return value }
            turn.wait()
        }
    }

    /// Takes a session once one is free, and opens the token before if it is closed and the time has come.
    private func begin(_ label: KeyLabel) throws -> Lease {
        try self.waiting { state in
            if state.sessions == nil {
                guard state.retry <= .now else { throw Closed() }
                guard state.inside == 0 else { return nil }
                let pin = try self.pin(&state)
                _ = try self.open(&state, pin)
            }
            guard let session = state.sessions?.popLast() else { return nil }
            state.inside += 1
            return Lease(session: session, handle: state.handles[label])
        }
    }

    /// Returns a session after use.
    private func finish(_ lease: Lease) {
        self.state.withLock { state in
            state.sessions?.append(lease.session)
            state.delay = Self.shortestDelay
            state.leave()
        }
    }

    /// Closes the token after a failed call: until the next delay is over, or only until the next request.
    private func fail(closing: Bool) {
        self.state.withLock { state in
            if state.sessions != nil, closing { state.close() } else { state.sessions = nil }
            state.leave()
        }
    }

    /// Reads the PIN.
    ///
    /// A file that cannot be read is no rejected PIN, so it ends the daemon only at the start. The file is read before
    /// the token is closed.
    private func pin(_ state: inout State) throws -> SecretBytes {
        do { return try self.options.pin() } catch {
            guard state.serial != nil else { throw error }
            guard state.sessions == nil else { throw KeptOpen(reason: "\(error)") }
            state.close()
            throw StartFailure(.unavailable, "\(error)")
        }
    }

    private func open(_ state: inout State, _ pin: borrowing SecretBytes) throws -> [FoundKey] {
        state.openings += 1
        // A failure below delays the next attempt.
        let delay = state.delay
        state.close()
        self.module.finalize()
        let token = try self.options.open(self.module, pin, sessions: self.sessionCount, preferring: state.serial)
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
            if found.key.wasOutside {
                self.log.warning("a key has been outside the token", metadata: ["key": "\(label)"])
            }
            guard state.checks[label] != nil else { continue }
            let check = try mapError(self.module.check(of: found.key, in: token.sessions[0]), to: self.options.failure)
            try state.use(found.key, as: label, check)
        }
        (state.sessions, state.delay, state.retry, state.serial) = (token.sessions, delay, .now, token.token.serial)
        return token.found
    }

    /// Looks for a key that was not used since the token was opened.
    private func find(_ label: KeyLabel, _ lease: Lease) throws -> UInt? {
        let keys = try self.module.keys(label.inToken, in: lease.session)
        guard !keys.isEmpty else { return nil }
        let found = FoundKey(keys)
        if let fault = found.fault { throw UnsoundKey(fault: fault) }
        let check = try self.module.check(of: found.key, in: lease.session)
        try self.state.withLock { try $0.use(found.key, as: label, check) }
        return found.key.handle
    }
}
