import Glibc
import HistoryChecker
import HostSystem
import TestSupport
import Testing
import Vocabulary

@testable import LoadEngine

@Suite("The file of wallets")
struct FleetFileTests {
    private let folder = TemporaryFolder()

    @Test("a file takes 8,192 bytes plus 64 for each wallet, and only its owner can read it")
    func size() throws {
        _ = try FleetOfTests.make(in: self.folder, wallets: 1000, registered: [])
        #expect(try FleetOfTests.bytes(in: self.folder).count == 8192 + 1000 * 64)
        #expect(try DurableFile.mode(of: self.folder.file("wallets")) == 0o600)
    }

    @Test("saved values are read back")
    func savedValues() throws {
        let history = HistorySummary(first: 0x0123_4567_89AB_CDEF, second: 42)
        do {
            let fleet = try FleetOfTests.make(in: self.folder, wallets: 3, registered: 0..<3)
            try fleet.close()
        }
        let before: FleetWallet
        do {
            let fleet = try FleetOfTests.open(in: self.folder)
            before = try fleet[1]
            try fleet.keep(generation: 7, of: before)
            try fleet.keep(generation: 5, of: before)
            try fleet.record(of: 1) { $0 == 7 ? history : .unknown }
            let (wallet, first) = try fleet.takeHistory(of: 0, leaving: .unknown)
            #expect(wallet.index == 0 && first == .fresh)
        }
        let fleet = try FleetOfTests.open(in: self.folder)
        let after = try fleet[1]
        #expect(after.walletID == before.walletID && after.platform == .android)
        #expect(after.generation == 7, "an earlier PIN never counts again")
        #expect(try fleet.takeHistory(of: 0, leaving: .fresh).history == .unknown, "the placeholder is in the file")
        #expect(try fleet.takeHistory(of: 1, leaving: .fresh).history == history)
        #expect(!fleet.mayBeBehind)
        #expect(try fleet.takeHistory(of: 1, leaving: .unknown).history == .fresh)
    }

    @Test("indices have no gaps, whichever slots an interrupted registration left free")
    func gaps() throws {
        let seed = UInt64.random(in: 0..<1_000_000)
        print("seed of the gaps: \(seed)")
        var generator = SeededGenerator(seed: seed)
        for round in 0..<20 {
            let folder = TemporaryFolder()
            let slots = (0..<60).filter { _ in Int.random(in: 0..<10, using: &generator) < round % 10 }
            let fleet = try FleetOfTests.make(in: folder, wallets: 60, registered: slots)
            let ids = try slots.map { try fleet.record(in: $0).walletID }
            let path = folder.file("wallets")
            #expect(throws: FleetError.inUse(path: path, pid: getpid())) {
                try Fleet.resume(path, wallets: 60, for: FleetOfTests.fingerprint)
            }
            try fleet.close()
            try Self.expect(ids, in: folder)
        }
    }

    private static func expect(_ ids: [WalletID], in folder: TemporaryFolder) throws {
        let copy = TemporaryFolder()
        try FleetOfTests.replace(try FleetOfTests.bytes(in: folder), in: copy)
        let fleet = try Fleet.resume(copy.file("wallets"), wallets: 60, for: FleetOfTests.fingerprint)
        #expect(try (0..<fleet.count).map { try fleet[$0].walletID } == ids)
        let queue = EnrollmentQueue(fleet, goal: 60, share: .standard)
        var free = 0
        while let pending = queue.take() {
            free += 1
            #expect(throws: FleetError.self) { try fleet.record(in: pending.slot) }
        }
        #expect(free == 60 - ids.count)
    }

    @Test("a record that mixes two writes is detected, at whichever byte it is torn")
    func torn() throws {
        let old = FleetRecord(FleetOfTests.wallet(.iOS)).encoded
        let new = FleetRecord(FleetOfTests.wallet(.android)).encoded
        let free = [UInt8](repeating: 0, count: FleetRecord.byteCount)
        #expect(FleetRecord.kind(of: free) == .free && FleetRecord.kind(of: old) == .registered)
        for cut in 1..<FleetRecord.byteCount {
            for (first, second) in [(old, new), (free, new), (new, free)] {
                let torn = Array(first[..<cut] + second[cut...])
                guard torn != first, torn != second else { continue }
                #expect(FleetRecord.kind(of: torn) == .torn, "cut at \(cut)")
                #expect(FleetRecord(decoding: torn) == nil)
            }
        }
        for bit in 0..<(FleetRecord.byteCount * 8) {
            var flipped = old
            flipped[bit / 8] ^= 1 << (bit % 8)
            #expect(FleetRecord.kind(of: flipped) == .torn, "bit \(bit)")
        }
    }

    @Test("a torn record is a free slot, and its neighbors are intact")
    func tornInFile() throws {
        do {
            let fleet = try FleetOfTests.make(in: self.folder, wallets: 4, registered: 0..<4)
            try fleet.close()
        }
        var bytes = try FleetOfTests.bytes(in: self.folder)
        bytes[Fleet.offset(of: 1) + 20] ^= 1
        try FleetOfTests.replace(bytes, in: self.folder)
        let fleet = try FleetOfTests.open(in: self.folder)
        #expect(fleet.count == 3 && fleet.tornCount == 1 && fleet.gaps == [1])
        #expect(try fleet[1].walletID == fleet.record(in: 2).walletID)
    }

    @Test("a truncated file is detected and restored by the next registration", arguments: [0, 1, 63, 64, 200])
    func truncated(byteCount: Int) throws {
        do {
            let fleet = try FleetOfTests.make(in: self.folder, wallets: 4, registered: 0..<4)
            try fleet.close()
        }
        let bytes = try FleetOfTests.bytes(in: self.folder)
        try FleetOfTests.replace(Array(bytes.prefix(FleetHeader.end + byteCount)), in: self.folder)
        let path = self.folder.file("wallets")
        #expect(throws: FleetError.cut(path: path, whole: byteCount / 64, expected: 4)) {
            try FleetOfTests.open(in: self.folder)
        }
        let fleet = try Fleet.resume(path, wallets: 2, for: FleetOfTests.fingerprint)
        #expect(fleet.count == byteCount / 64 && fleet.slotCount == 4)
        #expect(try FleetOfTests.bytes(in: self.folder).count == bytes.count)
    }

    @Test("a file grows and keeps its wallets")
    func grows() throws {
        do { _ = try FleetOfTests.make(in: self.folder, wallets: 2, registered: 0..<2) }
        let fleet = try Fleet.resume(self.folder.file("wallets"), wallets: 5, for: FleetOfTests.fingerprint)
        #expect(fleet.slotCount == 5 && fleet.count == 2)
    }

    @Test("one damaged copy of the header is harmless, two make the file unusable", arguments: FleetHeader.places)
    func header(place: Int) throws {
        do { _ = try FleetOfTests.make(in: self.folder, wallets: 2, registered: 0..<2) }
        var bytes = try FleetOfTests.bytes(in: self.folder)
        let id = try FleetOfTests.open(in: self.folder)[0].pinKeyID(generation: 3)
        bytes[place + 50] ^= 1
        try FleetOfTests.replace(bytes, in: self.folder)
        #expect(try FleetOfTests.open(in: self.folder)[0].pinKeyID(generation: 3) == id, "the seed is the same")
        for place in FleetHeader.places { bytes[place + 127] ^= 1 }
        bytes[place + 50] ^= 3
        try FleetOfTests.replace(bytes, in: self.folder)
        let path = self.folder.file("wallets")
        #expect(throws: FleetError.damaged(path: path)) { try FleetOfTests.open(in: self.folder) }
    }

    @Test("other kinds of files are rejected")
    func foreign() throws {
        let path = try self.folder.write("just a text\n", to: "wallets")
        #expect(throws: FleetError.foreign(path: path)) { try FleetOfTests.open(in: self.folder) }
        var bytes = FleetHeader(count: 1, seed: Array(repeating: 1, count: 32), authority: FleetOfTests.fingerprint)
            .encoded
        bytes[8] = 9
        bytes.replaceSubrange(124..<128, with: CRC32.of(bytes[..<124]).littleEndianBytes)
        try FleetOfTests.replace(bytes, in: self.folder)
        #expect(throws: FleetError.version(path: path, found: 9)) { try FleetOfTests.open(in: self.folder) }
    }

    @Test("wallets of another server and a file without wallets are rejected")
    func otherServer() throws {
        let path = self.folder.file("wallets")
        do { _ = try FleetOfTests.make(in: self.folder, wallets: 1, registered: []) }
        #expect(throws: FleetError.empty(path: path)) { try FleetOfTests.open(in: self.folder) }
        #expect(throws: FleetError.otherServer(path: path)) { try Fleet.open(path, for: FleetOfTests.digest(2)) }
        #expect(throws: FleetError.file(.exists(path))) {
            try Fleet.create(at: path, wallets: 1, fingerprint: FleetOfTests.fingerprint)
        }
    }

    @Test("the checksum is CRC-32")
    func checksum() {
        #expect(CRC32.of(Array("123456789".utf8)) == 0xCBF4_3926)
    }
}
