internal import HostSystem
internal import FastSigning
internal import Secrets
internal import Statements
internal import Synchronization
package import Transport
package import Vocabulary
package import Wire

/// A wallet's session, on a connection of its own: one instruction at a time.
package final class FleetSession: Sendable {
    package let wallet: FleetWallet
    package let connection: ClientConnection
    /// What Hello said.
    package let terms: ServerTerms
    /// What OpenSession said: the PIN's state, and the key that counts.
    package let opening: ActiveWallet

    let fleet: Fleet
    private let timeout: Duration
    private let state: Mutex<State>

    private struct State {
        var counter: UInt64 = 0
        /// Of the PIN that counts.
        var generation: UInt32
        /// Of the same PIN.
        var pinKeyID: PINKeyID
        /// The share that was last found to be the wallet's own.
        var provenShare: Share?
        /// Keys that were derived in this session; a person enters the right PIN again and again, too.
        var held: [PINChoice: FastPINKey] = [:]
    }

    private init(
        _ wallet: FleetWallet,
        of fleet: Fleet,
        on connection: ClientConnection,
        terms: ServerTerms,
        opening: ActiveWallet,
        generation: UInt32,
        timeout: Duration
    ) {
        self.wallet = wallet
        self.fleet = fleet
        self.connection = connection
        self.terms = terms
        self.opening = opening
        self.timeout = timeout
        self.state = Mutex(State(generation: generation, pinKeyID: opening.pinKeyID))
    }

    /// Whether the connection was recognized by a ticket of an earlier one.
    package var isResumed: Bool { self.connection.isResumed }

    /// Which of the wallet's PINs counts.
    package var generation: UInt32 { self.state.withLock(\.generation) }

    /// Ends the session with its connection.
    package func close() { self.connection.close() }

    // MARK: - Opening

    /// Connects and opens a session.
    ///
    /// An iOS proof that is refused is repeated once on a new connection, as the protocol has wallets do.
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

    /// Says hello and opens a session on a new connection, in one flight; closes the connection where that fails.
    package static func begin(
        _ wallet: FleetWallet,
        of fleet: Fleet,
        on connection: ClientConnection,
        timeout: Duration
    ) async throws(FleetFailure) -> FleetSession {
        do throws(FleetFailure) {
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
            return try self.opened(wallet, of: fleet, on: connection, answers, timeout: timeout)
        } catch {
            connection.close()
            throw error
        }
    }

    private static func opened(
        _ wallet: FleetWallet,
        of fleet: Fleet,
        on connection: ClientConnection,
        _ answers: [CallResult],
        timeout: Duration
    ) throws(FleetFailure) -> FleetSession {
        for case .refused(let refusal) in answers { throw .refused(refusal.reason) }
        guard case .hello(let terms) = answers.first, case .openSession(let opening) = answers.last else {
            throw .unexpectedAnswer
        }
        switch opening {
        case .revoked(let revocation): throw .revoked(revocation)
        case .active(let active):
            guard let generation = wallet.generation(of: active.pinKeyID, from: wallet.generation) else {
                throw .strangePINKey
            }
            if generation != wallet.generation { try fleet.keep(generation: generation, of: wallet) }
            return FleetSession(
                wallet,
                of: fleet,
                on: connection,
                terms: terms,
                opening: active,
                generation: generation,
                timeout: timeout
            )
        }
    }

    // MARK: - Instructions

    /// An instruction with its signatures, ready to be sent: what a phone has done before anything leaves it.
    package struct Prepared: Sendable {
        let call: Instruct
        /// The generation that counts if this changes the PIN.
        let next: UInt32?
    }

    /// Derives the key of an entry and signs a check of it; what is prepared must be sent, and in that order.
    ///
    /// Apart from ``send(_:)``, so that a run can tell the time of the phone from that of the server.
    package func prepareCheck(_ entry: PINChoice, attemptID: AttemptID = .random()) -> Prepared {
        let turn = self.next(entry)
        return Prepared(call: self.instruct(.checkPIN, turn, attemptID), next: nil)
    }

    /// As ``prepareCheck(_:attemptID:)``, for a change to the wallet's next PIN.
    package func prepareChange(_ entry: PINChoice = .right, attemptID: AttemptID = .random()) -> Prepared {
        let turn = self.next(entry)
        let next = turn.generation + 1
        let newKey = self.wallet.pinKey(.right, generation: next)
        let instruction = Instruction.changePIN(
            newKey: newKey.publicKey,
            newKeyID: self.wallet.pinKeyID(generation: next)
        )
        return Prepared(call: self.instruct(instruction, turn, attemptID, newKey: newKey), next: next)
    }

    /// Sends an instruction and waits for its result; a share that came with it is the wallet's own.
    package func send(_ prepared: Prepared) async throws(FleetFailure) -> InstructResult {
        let answer: CallResult
        do throws(CallError) {
            answer = try await self.connection.call(.instruct(prepared.call), timeout: self.timeout)
        } catch {
            throw .call(error)
        }
        return try self.result(of: answer, to: prepared)
    }

    /// Sends instructions in one flight, in their order, and waits for all results, which come in the same order.
    ///
    /// Throws where one has no answer; what became of the others is then not known either.
    /// - Precondition: no more than the server takes at a time.
    package func sendTogether(
        _ prepared: [Prepared]
    ) async throws(FleetFailure) -> [Result<InstructResult, FleetFailure>] {
        let answers = try await self.connection.flight(prepared.map { .instruct($0.call) }, timeout: self.timeout)
        return zip(answers, prepared).map { answer, prepared in
            Result { () throws(FleetFailure) in try self.result(of: answer, to: prepared) }
        }
    }

    /// What an answer says; a PIN that counts from now on is kept.
    private func result(of answer: CallResult, to prepared: Prepared) throws(FleetFailure) -> InstructResult {
        switch answer {
        case .instruct(let result):
            if case .pinValid(let share) = result, !self.isProven(share) { throw .falseShare }
            if case .pinChanged = result, let next = prepared.next { try self.turn(to: next) }
            return result
        case .refused(let refusal):
            if case .pinKeyChanged(let id) = refusal.reason {
                guard let current = self.wallet.generation(of: id, from: self.generation) else { throw .strangePINKey }
                try self.turn(to: current)
            }
            throw .refused(refusal.reason)
        default:
            throw .unexpectedAnswer
        }
    }

    /// Has a PIN checked.
    package func check(
        _ entry: PINChoice,
        attemptID: AttemptID = .random()
    ) async throws(FleetFailure) -> InstructResult {
        try await self.send(self.prepareCheck(entry, attemptID: attemptID))
    }

    /// Changes the PIN to the wallet's next one; the fleet keeps which one counts.
    package func changePIN(
        _ entry: PINChoice = .right,
        attemptID: AttemptID = .random()
    ) async throws(FleetFailure) -> InstructResult {
        try await self.send(self.prepareChange(entry, attemptID: attemptID))
    }

    /// Whether a share is the wallet's own; the derivation is spared for one that was proven before.
    private func isProven(_ share: Share) -> Bool {
        if let proven = self.state.withLock(\.provenShare), proven.isEqual(to: share) { return true }
        guard self.wallet.proves(share) else { return false }
        self.state.withLock { $0.provenShare = share }
        return true
    }

    /// Another PIN counts from now on.
    private func turn(to generation: UInt32) throws(FleetFailure) {
        let id = self.wallet.pinKeyID(generation: generation)
        self.state.withLock { state in
            state.generation = generation
            state.pinKeyID = id
            state.held = [:]
        }
        try self.fleet.keep(generation: generation, of: self.wallet)
    }

    /// Wrong PINs whose keys are held at most; a run that tries others all the time derives each anyway.
    private static let mostHeld = 4

    /// What one instruction is made of, beside what it says.
    private struct Turn {
        let counter: UInt64
        let generation: UInt32
        let pinKeyID: PINKeyID
        let key: FastPINKey
    }

    private func next(_ entry: PINChoice) -> Turn {
        self.state.withLock { state in
            state.counter += 1
            let key = state.held[entry] ?? self.wallet.pinKey(entry, generation: state.generation)
            if state.held.count < Self.mostHeld || entry == .right { state.held[entry] = key }
            return Turn(counter: state.counter, generation: state.generation, pinKeyID: state.pinKeyID, key: key)
        }
    }

    private func instruct(
        _ instruction: Instruction,
        _ turn: Turn,
        _ attemptID: AttemptID,
        newKey: FastPINKey? = nil
    ) -> Instruct {
        let body = InstructBody(
            attemptID: attemptID,
            pinKeyID: turn.pinKeyID,
            candidate: turn.key.publicKey,
            instruction: instruction
        ).encoded()
        func statement(_ purpose: Purpose) -> Statement {
            Statement(
                purpose,
                channelBinding: self.connection.channelBinding,
                walletID: self.wallet.walletID,
                counter: turn.counter,
                body: body
            )
        }
        let signed = turn.key.sign(statement(.instructPIN))
        return Instruct(
            counter: turn.counter,
            body: body,
            pinSignature: signed.signature,
            newPINSignature: newKey.map { $0.sign(statement(.newPIN)).signature },
            pinNonceY: signed.nonceY
        )
    }
}
