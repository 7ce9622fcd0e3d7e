internal import AttestationVerifier
internal import AuditLog
internal import HostSystem
internal import LogLines
internal import Metrics
internal import Synchronization
internal import Vault
internal import Vocabulary
internal import WalletStore
internal import Wire

/// What all conversations share; nothing in it belongs to one of them.
///
/// A class, so that a call takes one reference along and not a dozen.
final class Services: Sendable {
    let rules: ServiceRules
    let clock: any WallClock
    let store: any WalletStore
    let vault: any Vault
    let attestations: Attestations
    let proofs: DeviceProofs
    let decoy: Decoy
    let registry = ConnectionRegistry()
    let sources: SourceTable
    let limitMetrics: LimitMetrics
    let refusalLines = RefusalLines()
    /// A wallet may change its PIN as often as its source may call.
    let changeLines = LineAllowance(burst: 500, each: .seconds(10))
    let controls: OperatorControls
    let lastSessions = LastSessions()
    let audit: AuditLog
    /// Told of what happens to wallets once it is committed; does not wait.
    let onEvent: @Sendable (WalletIncident) -> Void
    /// For links to a recovery code and its denial: the wallets that are linked to it are named on record before.
    let recoveryCodeTurns = Turns<RecoveryCodeMAC>()
    /// For the ends of one wallet, so that each is on record once, however many connections ask for it at a time.
    let endTurns = Turns<WalletID>()
    /// Ends that are on record as begun and that the store did not take, with their entries' numbers.
    let begunEnds = Mutex<[BegunEnd: UInt64]>([:])
    /// For commands whose order on record has to be that of their commits.
    let commandTurns = Turns<AdminCommand.Lane>()
    let signatureLines = SignatureLines()
    let pinOutcomes = PINOutcomes()
    let meters: CallMeters
    /// Since when the process serves, whatever its clock is.
    let start = ContinuousClock.now
    let openConnections = Atomic<Int>(0)
    /// Whether clients are told to come back; set once, before their connections are stopped.
    let isStopping = Atomic<Bool>(false)

    init(
        rules: ServiceRules,
        clock: any WallClock,
        store: any WalletStore,
        vault: any Vault,
        attestations: Attestations,
        decoy: Decoy,
        controls: OperatorControls,
        audit: AuditLog,
        metrics: any MetricsFactory,
        onEvent: @escaping @Sendable (WalletIncident) -> Void
    ) {
        self.rules = rules
        self.clock = clock
        self.store = store
        self.vault = vault
        self.attestations = attestations
        self.proofs = DeviceProofs(decoy: decoy.record)
        self.decoy = decoy
        self.controls = controls
        self.audit = audit
        self.meters = CallMeters(metrics)
        self.limitMetrics = LimitMetrics(metrics)
        self.sources = SourceTable(rules.sources)
        let revocations = RevocationMeters(metrics)
        self.onEvent = { incident in
            revocations.note(incident)
            onEvent(incident)
        }
    }

    /// What the server offers before it knows which wallet is asking.
    var features: Features { Features(deletionCode: self.rules.offersDeletionCode, safeBiometricUnlock: false) }

    /// What the server offers to one wallet.
    func features(of wallet: WalletID) -> Features {
        Features(
            deletionCode: self.rules.offersDeletionCode,
            safeBiometricUnlock: self.controls.isOn(.safeBiometricUnlock, for: wallet)
        )
    }
}
