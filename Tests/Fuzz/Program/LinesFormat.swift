/// Lines of text: YAML, and a request with a form.
///
/// A line contains the lines below it that are indented more. Its header begins with a byte for its indentation
/// relative to the line that contains it, followed by the line's text up to its first `:`. The rest of the text is its
/// content. If the line contains other lines, the header has the whole text.
enum LinesFormat {
    static func nodes(of bytes: ArraySlice<UInt8>, depth: Int) -> [Node]? {
        var lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)[...]
        return self.takeLines(&lines, indentedMoreThan: -1, depth: depth)
    }

    private static func takeLines(
        _ lines: inout ArraySlice<ArraySlice<UInt8>>,
        indentedMoreThan outer: Int,
        depth: Int
    ) -> [Node]? {
        guard depth < InputFormat.deepest else { return nil }
        var nodes: [Node] = []
        while let line = lines.first {
            let indentation = line.prefix { $0 == UInt8(ascii: " ") }.count
            guard indentation > outer else { break }
            lines.removeFirst()
            let text = Array(line.dropFirst(indentation))
            guard let below = self.takeLines(&lines, indentedMoreThan: indentation, depth: depth + 1),
                let relative = UInt8(exactly: indentation - max(outer, 0))
            else { return nil }
            guard below.isEmpty else {
                nodes.append(Node([relative] + text, .nodes(below, .lines)))
                continue
            }
            let key = text.firstIndex(of: UInt8(ascii: ":")).map { text[...$0] } ?? []
            let rest = Array(text.dropFirst(key.count))
            let content = rest.contains(UInt8(ascii: "=")) ? InputFormat.content(rest, [.form], depth: depth) : nil
            nodes.append(Node([relative] + key, content ?? .bytes(rest)))
        }
        return nodes
    }

    static func bytes(of nodes: [Node]) -> [UInt8] { nodes.map(self.bytes(of:)).joined(by: "\n") }

    private static func bytes(of node: Node) -> [UInt8] {
        let indentation = [UInt8](repeating: UInt8(ascii: " "), count: Int(node.header.first ?? 0) % 16)
        let text = indentation + node.header.dropFirst()
        guard case .nodes(let below, .lines) = node.content else { return text + node.bytes }
        let lines = self.bytes(of: below).split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        return ([text] + lines.map { indentation + $0 }).joined(by: "\n")
    }
}

/// The fields of a form, each with its name and `=` as the header and its value as the content.
enum FormFormat {
    static func nodes(of bytes: ArraySlice<UInt8>) -> [Node] {
        bytes.split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false).map { field in
            let name = field.firstIndex(of: UInt8(ascii: "=")).map { field[...$0] } ?? []
            return Node(Array(name), .bytes(Array(field.dropFirst(name.count))))
        }
    }

    static func bytes(of nodes: [Node]) -> [UInt8] { nodes.map { $0.header + $0.bytes }.joined(by: "&") }
}
