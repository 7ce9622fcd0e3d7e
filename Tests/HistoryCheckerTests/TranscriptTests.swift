import HistoryChecker
import Testing

@Suite("Histories with a known verdict")
struct TranscriptTests {
    /// The first round of four wrong PINs, which begins a block of one minute.
    private static let round: String = """
        a wrong, a = wrong 3 #1, b wrong, b = wrong 2 #2, c wrong, c = wrong 1 #3, d wrong, d = wrong block 60 #4
        """

    private static let accepted: [(String, String)] = [
        ("no operation", ""),
        ("a right PIN", "a right, a = valid #1"),
        ("a wrong PIN, then the right one", "a wrong, a = wrong 3 #1, b right, b = valid #2, c wrong, c = wrong 3 #3"),
        ("a round with its block", "\(round), e right, e = blocked 60 #4"),
        ("a PIN after the block", "\(round), +61, e wrong, e = wrong 3 #5"),
        ("two guesses whose responses changed places", "a wrong, b wrong, b = wrong 2 #2, a = wrong 3 #1"),
        ("two guesses judged against the order of sending", "a wrong, b wrong, a = wrong 2 #2, b = wrong 3 #1"),
        ("right and wrong at once, the right one first", "a wrong, b right, a = wrong 3 #2, b = valid #1"),
        ("right and wrong at once, the wrong one first", "a wrong, b right, a = wrong 3 #1, b = valid #2"),
        ("a lost guess that was counted", "a wrong, a lost, b wrong, b = wrong 2 #2"),
        ("a lost guess that was not counted", "a wrong, a lost, b wrong, b = wrong 3 #1"),
        ("a lost guess judged between two others", "a wrong, a lost, b wrong, b = wrong 3 #1, c wrong, c = wrong 1 #3"),
        ("a lost right PIN that ended the count", "a wrong, a = wrong 3 #1, b right, b lost, c wrong, c = wrong 3 #3"),
        ("a guess lost in a crash and counted", "a wrong, crash, b open, b = opened 3 @0, c wrong, c = wrong 2 #2"),
        ("a guess lost in a crash and not counted", "a wrong, crash, b open, b = opened 4 @0, c wrong, c = wrong 3 #1"),
        ("a repeated wrong attempt", "a wrong, a = wrong 3 #1, b wrong again a, b = repeat 3 #1"),
        ("a repeated attempt whose reply was lost", "a wrong, a lost, b wrong again a, b = repeat 3 #1"),
        ("a repeated attempt that never arrived before", "a wrong, a lost, b wrong again a, b = wrong 3 #1"),
        (
            "a counted attempt is repeated after an older lost one that was not counted",
            "a wrong, a lost, b open, b = opened 4 @0, c wrong, c lost, d open, d = opened 3 @0, e wrong again c, "
                + "e = repeat 3 #1"
        ),
        ("a repeated right attempt is judged again", "a right, a lost, b right again a, b = valid #2"),
        (
            "an attempt repeated after another one is judged again",
            "a wrong, a = wrong 3 #1, b wrong, b = wrong 2 #2, c wrong again a, c = wrong 1 #3"
        ),
        ("a session during a block", "\(round), +20, e open, e = opened block 40 @0"),
        ("a changed PIN", "a change, a = valid #1, b right@1, b = valid #2"),
        ("an old PIN after a change", "a change, a = valid #1, b right, b = key @1"),
        ("a session after a change", "a change, a = valid #1, b open, b = opened 4 @1"),
        ("a lost change that took effect", "a change, a lost, b open, b = opened 4 @1, c right@1, c = valid #2"),
        ("a lost change without effect", "a change, a lost, b open, b = opened 4 @0, c right, c = valid #1"),
        ("a session beside a change", "a change, b open, a = valid #1, b = opened 4 @0"),
        ("a refused call", "a wrong, a = refused, b wrong, b = wrong 3 #1"),
        ("a revocation", "a right, a = valid #1, revoke, b right, b = revoked, c open, c = revoked"),
        ("a verdict on the way during a revocation", "a right, revoke, a = valid #1"),
        ("a refused call after a revocation", "revoke, a right, a = refused"),
        ("a restored backup", "a wrong, a = wrong 3 #1, b wrong, b = wrong 1 #7/2, c wrong, c = wrong block 60 #8/2"),
        (
            "four connections at once",
            """
            a wrong, b wrong, c right, d open, d = opened 2 @0, c = valid #3, b = wrong 3 #1, a = wrong 2 #2, \
            e wrong, e = wrong 3 #4
            """
        ),
        ("a block seen by a guess that was sent before it", "e wrong, \(round), e = blocked 60 #4"),
    ]

    @Test("a history that a correct server can produce is accepted", arguments: Self.accepted)
    func acceptance(name: String, text: String) throws {
        #expect(try Transcript.violations(in: text).isEmpty, "\(name)")
    }

    /// Name, transcript, and the violation.
    private static let forged: [(String, String, String)] = [
        ("a wrong PIN called valid", "a wrong, a = valid #1", "wrong-pin-called-valid"),
        ("a right PIN called wrong", "a right, a = wrong 3 #1", "right-pin-called-wrong"),
        ("another wallet's share", "a right, a = foreign", "share-of-another-wallet"),
        ("a right PIN left counted", "a right, a = valid #1, b wrong, b = wrong 2 #2", "impossible-count"),
        (
            "a session after a right PIN left counted", "a right, a = valid #1, b open, b = opened 3 @0",
            "impossible-opening"
        ),
        ("a guess that was not counted", "a wrong, a = wrong 3 #1, b wrong, b = wrong 3 #2", "impossible-count"),
        (
            "a count forgotten in a crash", "a wrong, a = wrong 3 #1, crash, b open, b = opened 4 @0",
            "impossible-opening"
        ),
        (
            "a count and a number forgotten in a crash", "a wrong, a = wrong 3 #1, crash, b wrong, b = wrong 3 #1",
            "impossible-number"
        ),
        ("one guess too many in a round", "\(round), e wrong, e = wrong 3 #5", "judged-during-block"),
        (
            "one guess too many in a burst",
            """
            a wrong, b wrong, c wrong, d wrong, e wrong, a = wrong 3 #1, b = wrong 2 #2, c = wrong 1 #3, \
            d = wrong block 60 #4, e = wrong 3 #5
            """, "judged-during-block"
        ),
        (
            "the last attempt of a round without its block",
            "a wrong, a = wrong 3 #1, b wrong, b = wrong 2 #2, c wrong, c = wrong 1 #3, d wrong, d = wrong 4 #4",
            "impossible-count"
        ),
        ("a right PIN judged in a block", "\(round), +30, e right, e = valid #5", "judged-during-block"),
        ("a block that ends too early", "\(round), +58, e wrong, e = wrong 3 #5", "judged-during-block"),
        ("a block that lasts too long", "\(round), +10, e right, e = blocked 60 #4", "impossible-block"),
        ("a block shown as open", "\(round), +10, e open, e = opened 4 @0", "impossible-opening"),
        ("a block without a cause", "a right, a = blocked 60 #0", "block-without-cause"),
        ("a permanent block without a cause", "a right, a = ended #0", "permanent-block-without-cause"),
        (
            "a second verdict for one attempt id", "a wrong, a = wrong 3 #1, b wrong again a, b = wrong 2 #2",
            "impossible-count"
        ),
        (
            "a right PIN as the repetition of a wrong one", "a wrong, a = wrong 3 #1, b right again a, b = valid #2",
            "impossible-pin-key"
        ),
        (
            "a repetition that was not the last attempt",
            "a wrong, a = wrong 3 #1, b wrong, b = wrong 2 #2, c wrong again a, c = repeat 2 #2", "impossible-count"
        ),
        ("a repetition of nothing", "a wrong, a = repeat 4 #0", "receipt-contradicts-verdict"),
        (
            "a right PIN judged twice under one number", "a right, b right, a = valid #1, b = valid #1",
            "impossible-number"
        ),
        ("two guesses under one number", "a wrong, b wrong, a = wrong 3 #1, b = wrong 2 #1", "impossible-number"),
        (
            "a number before the ones told", "a wrong, a = wrong 3 #1, b wrong, b = wrong 2 #2, c right, c = valid #1",
            "impossible-number"
        ),
        ("a number that is skipped", "a wrong, a = wrong 3 #2", "unexplained-attempt"),
        ("an attempt of another client", "a right, a = valid #1, b right, b = valid #3", "unexplained-attempt"),
        (
            "an attempt after the refused one was counted", "a wrong, a = refused, b wrong, b = wrong 2 #2",
            "unexplained-attempt"
        ),
        ("one lost guess that explains two numbers", "a wrong, a lost, b wrong, b = wrong 1 #3", "unexplained-attempt"),
        (
            "one lost guess that explains two numbers after a known one",
            "z right, z = valid #1, a wrong, a lost, b wrong, b = wrong 1 #4", "unexplained-attempt"
        ),
        (
            "one lost guess that explains two gaps", "a wrong, a lost, b right, b = valid #2, c right, c = valid #4",
            "unexplained-attempt"
        ),
        (
            "a lost guess judged after its server ended",
            "a wrong, crash, b wrong, b = wrong 3 #1, c wrong, c = wrong 1 #3", "unexplained-attempt"
        ),
        (
            "a lost guess that is counted before and after", "a wrong, a lost, b open, b = opened 2 @0",
            "impossible-opening"
        ),
        (
            "verdicts against the order of their numbers", "a wrong, b wrong, a = wrong 3 #2, b = wrong 2 #1",
            "impossible-count"
        ),
        (
            "a later request with an earlier number",
            "z wrong, a wrong, a = wrong 2 #2, b wrong, b = wrong 3 #1, z = wrong 1 #3", "impossible-number"
        ),
        ("a block that was judged", "a right, a = wrong block 60 #1", "right-pin-called-wrong"),
        ("a verdict without a receipt", "a right, a = valid", "missing-receipt"),
        ("a verdict of an epoch that ended", "a wrong, a = wrong 3 #1/2, b wrong, b = wrong 2 #2/1", "older-epoch"),
        ("a PIN change lost", "a change, a = valid #1, b right, b = valid #2", "impossible-pin-key"),
        (
            "a PIN change lost in a crash", "a change, a = valid #1, crash, b open, b = opened 4 @0",
            "impossible-opening"
        ),
        ("a PIN change that nobody made", "a right, a = valid #1, b right, b = key @1", "impossible-pin-key"),
        (
            "two PINs at the same time", "a change, a = valid #1, b right@1, b = valid #2, c right, c = valid #3",
            "impossible-pin-key"
        ),
        (
            "a share after a revocation", "a right, a = valid #1, revoke, b right, b = valid #2",
            "answered-after-revocation"
        ),
        ("a session after a revocation", "revoke, a open, a = opened 4 @0", "answered-after-revocation"),
        (
            "a verdict after another server told the revocation", "a right, a = revoked, b right, b = valid #1",
            "answered-after-revocation"
        ),
        ("a response to a session with a verdict", "a open, a = valid #1", "answer-to-another-question"),
        ("a verdict answered with a session", "a right, a = opened 4 @0", "answer-to-another-question"),
    ]

    @Test("a forged history is rejected with its violation, once", arguments: Self.forged)
    func rejection(name: String, text: String, violation: String) throws {
        #expect(try Transcript.violations(in: text).map(\.name) == [violation], "\(name)")
    }
}
