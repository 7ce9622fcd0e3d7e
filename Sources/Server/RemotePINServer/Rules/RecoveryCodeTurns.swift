internal import Synchronization
internal import Vocabulary

/// One at a time for each recovery code; others go on beside it.
///
/// Who asks whether a code is denied and then links it, and who denies it, must not overlap: a link that has just been
/// found allowed would end a wallet without the record that comes before.
final class RecoveryCodeTurns: Sendable {
    private let waiting = Mutex<[RecoveryCodeMAC: [CheckedContinuation<Void, Never>]]>([:])

    /// Waits for the turn; ``end(_:)`` must follow.
    func begin(_ code: RecoveryCodeMAC) async {
        await withCheckedContinuation { continuation in
            let isFree = self.waiting.withLock { waiting in
                guard waiting[code] != nil else {
                    waiting[code] = []
                    return true
                }
                waiting[code]?.append(continuation)
                return false
            }
            if isFree { continuation.resume() }
        }
    }

    /// Lets the next one have its turn.
    func end(_ code: RecoveryCodeMAC) {
        let next = self.waiting.withLock { waiting -> CheckedContinuation<Void, Never>? in
            guard waiting[code]?.isEmpty == false else {
                waiting[code] = nil
                return nil
            }
            return waiting[code]?.removeFirst()
        }
        next?.resume()
    }
}
