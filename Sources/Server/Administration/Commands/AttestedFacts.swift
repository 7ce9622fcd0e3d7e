internal import AdminProtocol
internal import Foundation
internal import Vocabulary

/// The facts that were attested when a wallet was registered, by name.
package struct AttestedFacts: Codable, Hashable, Sendable {
    package let facts: [String: Fact]

    /// A scalar JSON value.
    package enum Fact: Codable, Hashable, Sendable {
        case flag(Bool)
        case number(Int64)
        case text(String)

        package init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let flag = try? container.decode(Bool.self) {
                self = .flag(flag)
            } else if let number = try? container.decode(Int64.self) {
                self = .number(number)
            } else {
                self = .text(try container.decode(String.self))
            }
        }

        package func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            switch self {
            case .flag(let flag): try container.encode(flag)
            case .number(let number): try container.encode(number)
            case .text(let text): try container.encode(text)
            }
        }

        fileprivate var shown: String {
            switch self {
            case .flag(let flag): flag ? "yes" : "no"
            case .number(let number): "\(number)"
            case .text(let text): text
            }
        }
    }

    /// Parses the JSON object from the store.
    ///
    /// Any other text is kept as a single fact.
    init(_ json: String) {
        self.facts = (try? JSONDecoder().decode([String: Fact].self, from: Data(json.utf8))) ?? ["json": .text(json)]
    }

    package init(from decoder: any Decoder) throws { self.facts = try [String: Fact](from: decoder) }

    package func encode(to encoder: any Encoder) throws { try self.facts.encode(to: encoder) }

    /// The facts sorted by name, for display.
    var sorted: [(name: String, value: String)] {
        self.facts.sorted { $0.key < $1.key }.map { fact in
            let name = fact.key.map { $0 == "_" ? " " : String($0) }.joined()
            if fact.key == "verified_ms", case .number(let time) = fact.value {
                return ("at", Timestamp(milliseconds: time).text)
            }
            return (name, fact.value.shown)
        }
    }
}
