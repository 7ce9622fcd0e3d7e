internal import HostSystem
package import HistoryChecker
internal import Secrets
internal import Statements
internal import Synchronization
package import Transport
package import Vocabulary
package import Wire

/// A wallet's session on its own connection; only one instruction may be in flight at a time.
package final class FleetSession: Sendable {
    package let wallet: FleetWallet
    package let connection: ClientConnection
    /// The server's terms, from Hello.
    package let terms: ServerTerms
    /// The PIN state and the current key, from OpenSession.
    package let opening: ActiveWallet

    let fleet: Fleet
    private let timeout: Duration
    private let state: Mutex<State>

    private struct State {
        var counter: UInt64 = 0
        var generation: UInt32
        var pinKeyID: PINKeyID
    }

    /// Whether the connection was resumed with a ticket.
    package var isResumed: Bool { self.connection.isResumed }

    package var generation: UInt32 { self.state.withLock(\.generation) }

    /// Closes the session's connection.
    package func close() { self.connection.close() }

    // MARK: - Opening

    /// Connects and opens a session.
    ///
    /// A rejected iOS proof is retried once on a new connection, as the protocol requires of wallets.
    package static func open(
        _ wallet: FleetWallet,
        of fleet: Fleet,
        at target: Target,
        tls: TLSClientContext,
        timeout: Duration
    ) async throws(FleetFailure) -> FleetSession {
        do throws(FleetFailure) {
            let connection = try await target.connect(tls: tls, timeout: timeout)
            return try await self.begin(wallet, of: fleet, on: connection, timeout: timeout)
        } catch .refused(.authenticationFailed) where wallet.platform == .iOS {
            let connection = try await target.connect(tls: tls, timeout: timeout)
            return try await self.begin(wallet, of: fleet, on: connection, timeout: timeout)
        }
    }

    /// Sends Hello and OpenSession in a single flight on a new connection; closes the connection on failure.
    package static func begin(
        _ wallet: FleetWallet,
        of fleet: Fleet,
        on connection: ClientConnection,
        timeout: Duration
    ) async throws(FleetFailure) -> FleetSession {
        do throws(FleetFailure) {
            return try await FleetSession(wallet, of: fleet, on: connection, timeout: timeout)
        } catch {
            connection.close()
            throw error
        }
    }

    private init(
        _ wallet: FleetWallet,
        of fleet: Fleet,
        on connection: ClientConnection,
        timeout: Duration
    ) async throws(FleetFailure) {
        let facts = FleetPhone.facts(wallet.platform)
        let hello = Call.hello(facts.hello(wallet.platform))
        let answers: [CallResult]
        switch wallet.platform {
        case .android:
            let call = try wallet.sessionCall(facts, of: fleet, on: connection)
            answers = try await connection.flight([hello, .openSession(call)], timeout: timeout)
        case .iOS:
            answers = try await fleet.proofs.withLock(wallet.slot) { () throws(FleetFailure) in
                let call = try wallet.sessionCall(facts, of: fleet, on: connection)
                return try await connection.flight([hello, .openSession(call)], timeout: timeout)
            }
        }
        for case .refused(let refusal) in answers { throw .refused(refusal.reason) }
        if case .openSession(.revoked(let revocation)) = answers.last { throw .revoked(revocation) }
        guard case .hello(let terms) = answers.first, case .openSession(.active(let opening)) = answers.last else {
            throw .unexpectedAnswer
        }
        guard let generation = wallet.generation(of: opening.pinKeyID, from: wallet.generation) else {
            throw .strangePINKey
        }
        if generation != wallet.generation { try fleet.keep(generation: generation, of: wallet) }
        self.wallet = wallet
        self.fleet = fleet
        self.connection = connection
        self.terms = terms
        self.opening = opening
        self.timeout = timeout
        self.state = Mutex(State(generation: generation, pinKeyID: opening.pinKeyID))
    }

    // MARK: - Instructions

    /// A signed instruction, ready to be sent.
    package struct Prepared: Sendable {
        let call: Instruct
        let attemptID: AttemptID
        /// The generation that becomes current if the PIN is changed successfully.
        let next: UInt32?
    }

    /// The result of an instruction, with its place in the server's order of the wallet's attempts.
    package struct Answer: Sendable {
        package let result: InstructResult
        /// The place, or nil if the answer has no receipt.
        package let place: VerdictPlace?
    }

    /// Derives the key for a PIN and signs a check with it.
    ///
    /// Prepared instructions must be sent in order. This is separate from ``send(_:)``, so that a run measures the
    /// server's time and not the phone's.
    package func prepareCheck(_ entry: PINChoice, attemptID: AttemptID = .random()) -> Prepared {
        let inputs = self.next(entry)
        return Prepared(call: self.instruct(.checkPIN, inputs, attemptID), attemptID: attemptID, next: nil)
    }

    /// Prepares a change to the wallet's next PIN; otherwise like ``prepareCheck(_:attemptID:)``.
    package func prepareChange(_ entry: PINChoice = .right, attemptID: AttemptID = .random()) -> Prepared {
        let inputs = self.next(entry)
        let next = inputs.generation + 1
        let newKey = self.wallet.pinKey(.right, generation: next)
        let instruction = Instruction.changePIN(
            newKey: newKey.publicKey,
            newKeyID: self.wallet.pinKeyID(generation: next)
        )
        return Prepared(
            call: self.instruct(instruction, inputs, attemptID, newKey: newKey),
            attemptID: attemptID,
            next: next
        )
    }

    /// Sends an instruction and returns its result.
    ///
    /// Verifies that a share in the response belongs to the wallet.
    package func send(_ prepared: Prepared) async throws(FleetFailure) -> Answer {
        let answer = try await mapError(
            of: await self.connection.call(.instruct(prepared.call), timeout: self.timeout),
            to: FleetFailure.call
        )
        return try self.result(of: answer, to: prepared)
    }

    /// Like ``send(_:)``, but returns a failure instead of throwing it.
    package func result(of prepared: Prepared) async -> Result<Answer, FleetFailure> {
        do throws(FleetFailure) { return .success(try await self.send(prepared)) } catch { return .failure(error) }
    }

    /// Sends instructions in a single flight and returns their results in the same order.
    ///
    /// Throws if a response is missing, in which case the results of the others are unknown too.
    /// - Precondition: The server accepts this many instructions at a time.
    package func sendTogether(_ prepared: [Prepared]) async throws(FleetFailure) -> [Result<Answer, FleetFailure>] {
        let answers = try await self.connection.flight(prepared.map { .instruct($0.call) }, timeout: self.timeout)
        return zip(answers, prepared).map { answer, prepared in
            Result { () throws(FleetFailure) in try self.result(of: answer, to: prepared) }
        }
    }

    /// Interprets a response.
    ///
    /// If it changes the PIN, records the new one.
    private func result(of answer: CallResult, to prepared: Prepared) throws(FleetFailure) -> Answer {
        let place = try self.place(in: answer, to: prepared)
        switch answer.withoutReceipt {
        case .instruct(let result):
            if case .pinValid(let share, _) = result, !self.wallet.proves(share) { throw .falseShare }
            if case .pinChanged = result, let next = prepared.next { try self.adopt(generation: next) }
            return Answer(result: result, place: place)
        case .refused(let refusal):
            if case .pinKeyChanged(let id) = refusal.reason {
                guard let current = self.wallet.generation(of: id, from: self.generation) else { throw .strangePINKey }
                try self.adopt(generation: current)
            }
            throw .refused(refusal.reason)
        default: throw .unexpectedAnswer
        }
    }

    /// Reads the place from the receipt, without verifying the receipt's signature.
    ///
    /// Whether the place is correct follows from the wallet's history.
    private func place(in answer: CallResult, to prepared: Prepared) throws(FleetFailure) -> VerdictPlace? {
        guard case .judged(_, let receipt) = answer else { return nil }
        let leaf = receipt.leaf
        guard leaf.walletID == self.wallet.walletID, leaf.attemptID == prepared.attemptID else {
            throw .unexpectedAnswer
        }
        return VerdictPlace(epoch: receipt.signed.epoch, leaf)
    }

    /// Makes a different PIN the current one.
    private func adopt(generation: UInt32) throws(FleetFailure) {
        let id = self.wallet.pinKeyID(generation: generation)
        self.state.withLock { state in
            state.generation = generation
            state.pinKeyID = id
        }
        try self.fleet.keep(generation: generation, of: self.wallet)
    }

    /// The values that a session contributes to an instruction.
    private struct InstructionInputs {
        let counter: UInt64
        let generation: UInt32
        let pinKeyID: PINKeyID
        let key: FleetPINKey
    }

    private func next(_ entry: PINChoice) -> InstructionInputs {
        self.state.withLock { state in
            state.counter += 1
            return InstructionInputs(
                counter: state.counter,
                generation: state.generation,
                pinKeyID: state.pinKeyID,
                key: self.wallet.pinKey(entry, generation: state.generation)
            )
        }
    }

    private func instruct(
        _ instruction: Instruction,
        _ inputs: InstructionInputs,
        _ attemptID: AttemptID,
        newKey: FleetPINKey? = nil
    ) -> Instruct {
        let body = InstructBody(
            attemptID: attemptID,
            pinKeyID: inputs.pinKeyID,
            candidate: inputs.key.publicKey,
            instruction: instruction
        ).encoded()
        func statement(_ purpose: Purpose) -> Statement {
            Statement(
                purpose,
                channelBinding: self.connection.channelBinding,
                walletID: self.wallet.walletID,
                counter: inputs.counter,
                body: body
            )
        }
        return Instruct(
            counter: inputs.counter,
            body: body,
            pinSignature: inputs.key.sign(statement(.instructPIN)),
            newPINSignature: newKey.map { $0.sign(statement(.newPIN)) }
        )
    }
}
