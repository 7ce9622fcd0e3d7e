internal import Glibc

/// Bytes in one allocation of fixed size, wiped as they leave it and when it goes out of scope.
///
/// What somebody types is collected here: nothing grows, so no stale copy is left behind.
@safe package struct WipedBuffer: ~Copyable {
    private let storage: UnsafeMutableRawBufferPointer
    package private(set) var count = 0

    package init(capacity: Int) {
        unsafe self.storage = .allocate(byteCount: capacity, alignment: 1)
    }

    deinit {
        unsafe Self.wipe(self.storage)
        unsafe self.storage.deallocate()
    }

    package var isEmpty: Bool { self.count == 0 }

    /// How many bytes still fit.
    package var room: Int { unsafe self.storage.count - self.count }

    /// Forgets everything.
    package mutating func removeAll() {
        unsafe Self.wipe(UnsafeMutableRawBufferPointer(rebasing: self.storage[..<self.count]))
        self.count = 0
    }

    /// Forgets the last byte; nothing happens where there is none.
    package mutating func removeLast() {
        guard self.count > 0 else { return }
        self.count -= 1
        unsafe self.storage[self.count] = 0
    }

    /// Forgets the first bytes, and moves the others to the front.
    mutating func removeFirst(_ number: Int) {
        let rest = self.count - number
        for index in 0..<rest { unsafe self.storage[index] = self.storage[index + number] }
        unsafe Self.wipe(UnsafeMutableRawBufferPointer(rebasing: self.storage[rest..<self.count]))
        self.count = rest
    }

    /// False when it is full.
    package mutating func append(_ byte: UInt8) -> Bool {
        guard unsafe self.count < self.storage.count else { return false }
        unsafe self.storage[self.count] = byte
        self.count += 1
        return true
    }

    /// Lends what is free to read(2) and notes how much of it was used; returns what the call returned.
    mutating func fill(from descriptor: Int32) -> Int {
        let free = unsafe UnsafeMutableRawBufferPointer(rebasing: self.storage[self.count...])
        let count = unsafe read(descriptor, free.baseAddress, free.count)
        if count > 0 { self.count += count }
        return count
    }

    /// Lends what is there.
    package borrowing func withBytes<Result: ~Copyable>(_ body: (RawSpan) -> Result) -> Result {
        body(unsafe UnsafeRawBufferPointer(rebasing: self.storage[..<self.count]).bytes)
    }

    /// Lends a part of what is there.
    package borrowing func withBytes<Result: ~Copyable>(_ range: Range<Int>, _ body: (RawSpan) -> Result) -> Result {
        precondition(range.lowerBound >= 0 && range.upperBound <= self.count, "only what is there can be lent")
        return body(unsafe UnsafeRawBufferPointer(rebasing: self.storage[range]).bytes)
    }

    /// One of the bytes that are there.
    package subscript(index: Int) -> UInt8 {
        precondition(index >= 0 && index < self.count, "only what is there can be read")
        return unsafe self.storage[index]
    }

    /// The optimizer may not remove this one (explicit_bzero(3)).
    private static func wipe(_ bytes: UnsafeMutableRawBufferPointer) {
        if let start = bytes.baseAddress { unsafe explicit_bzero(start, bytes.count) }
    }
}
