internal import CProtobufC
internal import Glibc

/// The memory of one C message tree: taken piece by piece, limited by a budget, wiped and given back all at once.
///
/// protobuf-c allocates some fifty times what a hostile frame has in bytes (a two-byte empty sub-message becomes a
/// struct and a pointer). The budget ends that: it counts every byte taken from the system, nothing given back counts
/// as free again, and the piece that would exceed it is refused, upon which protobuf-c gives up. As nothing is freed
/// singly, no error path of protobuf-c can leak or free twice. Trees hold shares, so they are wiped.
///
/// - Important: pointers into an arena die with it. They never leave this target; what is read is copied out.
@safe struct Arena: ~Copyable {
    let state: UnsafeMutablePointer<ArenaState>

    /// Takes at most `budget` bytes from the system, less only than what the first piece needs.
    init(budget: Int) {
        unsafe self.state = ArenaState.make(budget: budget)
    }

    /// An arena for a message of our own making.
    init() {
        self.init(budget: .max)
    }

    deinit {
        unsafe self.state.pointee.releaseChunks()
        unsafe free(self.state)
    }

    /// Bytes taken from the system so far.
    var takenByteCount: Int { unsafe self.state.pointee.takenByteCount }

    /// Whether a piece was refused because of the budget.
    var hasRefused: Bool { unsafe self.state.pointee.hasRefused }

    /// Decodes `frame` into this arena with the generated `…__unpack` of a message; nil when it is not the message or
    /// the budget is too small for it.
    borrowing func unpack<Message>(_ frame: [UInt8], with unpack: Unpacker<Message>) -> UnsafeMutablePointer<Message>? {
        var allocator = unsafe ProtobufCAllocator(
            alloc: { state, byteCount in
                unsafe state?.assumingMemoryBound(to: ArenaState.self).pointee.allocate(byteCount: byteCount)
            },
            free: { _, _ in },
            allocator_data: UnsafeMutableRawPointer(self.state)
        )
        return unsafe unpack(&allocator, frame.count, frame)
    }
}

/// What an ``Arena`` has taken and what of it is unused; in memory of its own, because C code points at it.
@unsafe struct ArenaState {
    var budgetLeft: Int
    var takenByteCount = 0
    var hasRefused = false
    /// The newest chunk; each begins with a ``ChunkHeader``.
    private var chunk: UnsafeMutablePointer<ChunkHeader>?
    private var next: UnsafeMutableRawPointer?
    private var unusedByteCount = 0
    /// Room for the first chunk behind this state, so that the commonest trees take one piece of the system's memory.
    private let room: UnsafeMutableRawPointer

    private static let alignment = 16
    private static let roomOffset = unsafe (MemoryLayout<ArenaState>.size + alignment - 1) & ~(alignment - 1)
    /// Enough for an instruction, so that the commonest calls take one chunk; with the state before it what malloc(3) has
    /// at hand.
    private static let firstChunkByteCount = 1024 - roomOffset
    private static let largestStepByteCount = 1 << 20

    /// A new state, which `free(3)` gives back after ``releaseChunks()``.
    static func make(budget: Int) -> UnsafeMutablePointer<ArenaState> {
        // malloc(3) aligns for every C type; asking for the alignment would take a slower way.
        guard let memory = unsafe malloc(Self.roomOffset + Self.firstChunkByteCount) else {
            preconditionFailure("the system is out of memory")
        }
        let state = unsafe memory.bindMemory(to: ArenaState.self, capacity: 1)
        unsafe state.initialize(to: ArenaState(budgetLeft: budget, room: memory + Self.roomOffset))
        return unsafe state
    }

    private init(budgetLeft: Int, room: UnsafeMutableRawPointer) {
        unsafe self.budgetLeft = budgetLeft
        unsafe self.room = unsafe room
    }

    mutating func allocate(byteCount: Int) -> UnsafeMutableRawPointer? {
        guard byteCount >= 0, byteCount <= Int.max / 4 else { return unsafe self.refuse() }
        let rounded = unsafe max(Self.alignment, (byteCount + Self.alignment - 1) & ~(Self.alignment - 1))
        if unsafe rounded > self.unusedByteCount {
            guard unsafe self.addChunk(payloadByteCount: rounded) else { return unsafe self.refuse() }
        }
        let piece = unsafe self.next
        unsafe self.next = unsafe piece?.advanced(by: rounded)
        unsafe self.unusedByteCount -= rounded
        return unsafe piece
    }

    private mutating func refuse() -> UnsafeMutableRawPointer? {
        unsafe self.hasRefused = true
        return nil
    }

    private mutating func addChunk(payloadByteCount: Int) -> Bool {
        let needed = unsafe payloadByteCount + ChunkHeader.byteCount
        let step = unsafe min(
            max(self.takenByteCount * 2, Self.firstChunkByteCount),
            Self.largestStepByteCount
        )
        let byteCount = unsafe min(max(needed, step), self.budgetLeft)
        guard byteCount >= needed else { return false }
        let fitsRoom = unsafe self.chunk == nil && byteCount <= Self.firstChunkByteCount
        guard let raw = unsafe fitsRoom ? self.room : malloc(byteCount) else { return false }
        let header = unsafe raw.bindMemory(to: ChunkHeader.self, capacity: 1)
        unsafe header.initialize(to: ChunkHeader(previous: self.chunk, byteCount: byteCount))
        unsafe self.chunk = unsafe header
        unsafe self.next = unsafe raw.advanced(by: ChunkHeader.byteCount)
        unsafe self.unusedByteCount = byteCount - ChunkHeader.byteCount
        unsafe self.budgetLeft -= byteCount
        unsafe self.takenByteCount += byteCount
        return true
    }

    /// Wipes and frees every chunk.
    mutating func releaseChunks() {
        while let header = unsafe self.chunk {
            unsafe self.chunk = unsafe header.pointee.previous
            let byteCount = unsafe header.pointee.byteCount
            unsafe explicit_bzero(header, byteCount)
            if unsafe UnsafeMutableRawPointer(header) != self.room { unsafe free(header) }
        }
    }
}

/// Stands at the beginning of every chunk of an ``Arena``.
@unsafe struct ChunkHeader {
    var previous: UnsafeMutablePointer<ChunkHeader>?
    var byteCount: Int

    /// The header's size, rounded up so that what follows is aligned.
    static let byteCount = 16
}
