internal import CProtobufC
internal import Glibc

/// The memory for a C message tree.
///
/// It is limited by a budget, and wiped and freed all at once.
///
/// A hostile frame can make protobuf-c allocate about fifty times its size, because an empty sub-message of two bytes
/// becomes a struct and a pointer. Every byte taken from the system counts towards the budget, even after it has been
/// freed. An allocation that would exceed the budget fails, which makes protobuf-c give up. Allocations are never freed
/// individually, so no error path in protobuf-c can leak memory or free it twice. Message trees contain shares, so the
/// memory is wiped.
///
/// - Important: A pointer into an arena is valid only while the arena exists. Pointers never leave this target; values
///   are copied out.
@safe struct Arena: ~Copyable {
    let state: UnsafeMutablePointer<ArenaState>

    /// Creates an arena that takes at most `budget` bytes from the system for allocations.
    init(budget: Int) { unsafe self.state = ArenaState.make(budget: budget) }

    /// Creates an arena without a limit, for encoding.
    init() { self.init(budget: .max) }

    deinit {
        unsafe self.state.pointee.releaseChunks()
        unsafe free(self.state)
    }

    /// The number of bytes taken from the system so far.
    var takenByteCount: Int { unsafe self.state.pointee.takenByteCount }

    /// Whether an allocation has failed because of the budget.
    var hasRefused: Bool { unsafe self.state.pointee.hasRefused }

    /// Decodes `frame` into this arena; returns nil if it is not a valid message or the budget is too small.
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

/// The state of an ``Arena``, which is allocated separately because C code has a pointer to it.
///
/// Safety invariant: all pointers point into chunks that exist until ``releaseChunks()``.
@safe struct ArenaState {
    var budgetLeft: Int
    var takenByteCount = 0
    var hasRefused = false
    /// The newest chunk.
    ///
    /// Every chunk starts with a ``ChunkHeader``.
    private var chunk: UnsafeMutablePointer<ChunkHeader>?
    private var next: UnsafeMutableRawPointer?
    private var unusedByteCount = 0
    /// Space for the first chunk directly after this state, so that common messages only require a single call to
    /// malloc(3).
    private let room: UnsafeMutableRawPointer

    private static let alignment = 16
    private static let roomOffset = (MemoryLayout<ArenaState>.size + alignment - 1) & ~(alignment - 1)
    /// The size of the first chunk: enough for an instruction, the most common call.
    ///
    /// Together with the state, it has a size that malloc(3) caches.
    private static let firstChunkByteCount = 1024 - roomOffset
    private static let largestStepByteCount = 1 << 20

    /// Allocates a state.
    ///
    /// The caller must call ``releaseChunks()`` and then free(3).
    static func make(budget: Int) -> UnsafeMutablePointer<ArenaState> {
        // Memory from malloc(3) is aligned for every C type, and posix_memalign(3) would be slower.
        guard let memory = unsafe malloc(Self.roomOffset + Self.firstChunkByteCount) else {
            preconditionFailure("the system is out of memory")
        }
        let state = unsafe memory.bindMemory(to: ArenaState.self, capacity: 1)
        unsafe state.initialize(to: ArenaState(budgetLeft: budget, room: memory + Self.roomOffset))
        return unsafe state
    }

    /// Allocates memory that is aligned for every C type; returns nil if this would exceed the budget.
    mutating func allocate(byteCount: Int) -> UnsafeMutableRawPointer? {
        guard byteCount >= 0, byteCount <= Int.max / 4 else { return unsafe self.refuse() }
        let rounded = max(Self.alignment, (byteCount + Self.alignment - 1) & ~(Self.alignment - 1))
        if rounded > self.unusedByteCount {
            guard self.addChunk(payloadByteCount: rounded) else { return unsafe self.refuse() }
        }
        let piece = unsafe self.next
        unsafe self.next = unsafe piece?.advanced(by: rounded)
        self.unusedByteCount -= rounded
        return unsafe piece
    }

    private mutating func refuse() -> UnsafeMutableRawPointer? {
        self.hasRefused = true
        return nil
    }

    private mutating func addChunk(payloadByteCount: Int) -> Bool {
        let needed = payloadByteCount + ChunkHeader.byteCount
        let step = min(max(self.takenByteCount * 2, Self.firstChunkByteCount), Self.largestStepByteCount)
        let byteCount = min(max(needed, step), self.budgetLeft)
        guard byteCount >= needed else { return false }
        let fitsRoom = unsafe self.chunk == nil && byteCount <= Self.firstChunkByteCount
        guard let raw = unsafe fitsRoom ? self.room : malloc(byteCount) else { return false }
        let header = unsafe raw.bindMemory(to: ChunkHeader.self, capacity: 1)
        unsafe header.initialize(to: ChunkHeader(previous: self.chunk, byteCount: byteCount))
        unsafe self.chunk = unsafe header
        unsafe self.next = unsafe raw.advanced(by: ChunkHeader.byteCount)
        self.unusedByteCount = byteCount - ChunkHeader.byteCount
        self.budgetLeft -= byteCount
        self.takenByteCount += byteCount
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

/// The header of a chunk in an ``Arena``.
@safe struct ChunkHeader {
    var previous: UnsafeMutablePointer<ChunkHeader>?
    var byteCount: Int

    /// The size of the header, rounded up so that the memory after it is aligned.
    static let byteCount = 16
}
