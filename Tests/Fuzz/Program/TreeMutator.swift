internal import TestSupport

/// Changes the structure of an input and keeps its encoding well formed.
struct TreeMutator {
    private var generator: SeededGenerator
    /// Texts and values that replace content.
    private let words: [[UInt8]]
    /// Changes bytes without regard to their structure.
    private let mutateBytes: ([UInt8]) -> [UInt8]

    private static let mostChanges = 4
    /// Lengths at and around the limits of fields.
    private static let lengths = [
        0, 1, 15, 16, 17, 32, 33, 63, 64, 65, 128, 129, 255, 256, 257, 1024, 1025, 4096, 33_000,
    ]
    private static let numbers: [[UInt8]] = [
        [], [1], [2], [0x7F], [0x80], [0xFF], [0, 1], [0xFF, 0xFF, 0xFF, 0x7F], [0xFF, 0xFF, 0xFF, 0xFF],
        [0, 0, 0, 0, 1], [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F], [UInt8](repeating: 0xFF, count: 8),
    ]

    init(seed: UInt32, words: [String], mutateBytes: @escaping ([UInt8]) -> [UInt8]) {
        self.generator = SeededGenerator(seed: UInt64(seed))
        self.words = words.map { Array($0.utf8) }
        self.mutateBytes = mutateBytes
    }

    /// Returns whether this mutation ignores the structure.
    mutating func breaksStructure() -> Bool { self.chance(16) }

    mutating func chance(_ one: Int) -> Bool { Int.random(in: 0..<one, using: &self.generator) == 0 }

    mutating func mutated(_ nodes: [Node]) -> [Node] {
        var nodes = nodes
        for _ in 0..<Int.random(in: 1...Self.mostChanges, using: &self.generator) { self.change(&nodes) }
        return nodes
    }

    /// Joins the beginning of one input and the end of another, or interleaves their parts.
    mutating func crossed(_ first: [Node], _ second: [Node]) -> [Node] {
        let start = Int.random(in: 0...first.count, using: &self.generator)
        let end = Int.random(in: 0...second.count, using: &self.generator)
        guard self.chance(3) else { return Array(first[..<start] + second[end...]) }
        var (rest, other) = (first[...], second[...])
        var nodes: [Node] = []
        while !rest.isEmpty || !other.isEmpty {
            let node = self.chance(2) ? rest.popFirst() ?? other.popFirst() : other.popFirst() ?? rest.popFirst()
            if let node { nodes.append(node) }
        }
        return nodes
    }

    private mutating func change(_ nodes: inout [Node]) {
        var paths: [[Int]] = []
        Self.collect(nodes, [], &paths)
        guard let path = paths.randomElement(using: &self.generator),
            let other = paths.randomElement(using: &self.generator)
        else { return }
        let donor = Self.node(at: other, in: nodes)
        self.change(&nodes, at: path[...], donor)
    }

    private mutating func change(_ nodes: inout [Node], at path: ArraySlice<Int>, _ donor: Node) {
        guard let place = path.first, path.count > 1 else { return self.change(&nodes, path.first ?? 0, donor) }
        var children = nodes[place].children
        self.change(&children, at: path.dropFirst(), donor)
        nodes[place].children = children
    }

    /// Makes one change at a place.
    private mutating func change(_ nodes: inout [Node], _ place: Int, _ donor: Node) {
        switch Int.random(in: 0..<12, using: &self.generator) {
        case 0: nodes.remove(at: place)
        case 1: nodes.insert(nodes[place], at: place)
        case 2: nodes.swapAt(place, Int.random(in: nodes.indices, using: &self.generator))
        case 3: nodes.insert(donor, at: place)
        case 4: nodes[place].content = donor.content
        case 5: nodes[place].header = self.chance(2) ? donor.header : self.mutateBytes(nodes[place].header)
        case 6: nodes[place].content = .bytes(Self.numbers.randomElement(using: &self.generator) ?? [])
        case 7: nodes[place].content = .bytes(self.resized(nodes[place].bytes))
        case 8: nodes[place].content = .bytes(self.words.randomElement(using: &self.generator) ?? donor.bytes)
        default: nodes[place].content = .bytes(self.mutateBytes(nodes[place].bytes))
        }
    }

    private mutating func resized(_ bytes: [UInt8]) -> [UInt8] {
        let length = Self.lengths.randomElement(using: &self.generator) ?? 0
        return Array((bytes + [UInt8](repeating: bytes.last ?? 0x41, count: length)).prefix(length))
    }

    private static func collect(_ nodes: [Node], _ path: [Int], _ paths: inout [[Int]]) {
        for (place, node) in nodes.enumerated() {
            paths.append(path + [place])
            self.collect(node.children, path + [place], &paths)
        }
    }

    private static func node(at path: [Int], in nodes: [Node]) -> Node {
        path.dropFirst().reduce(nodes[path[0]]) { node, place in node.children[place] }
    }
}
