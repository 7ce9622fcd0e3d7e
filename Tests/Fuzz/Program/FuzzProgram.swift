internal import Foundation
internal import HostSystem

/// The fuzzer: `fuzz TARGET ARGUMENT…` passes the arguments to libFuzzer.
@main
enum FuzzProgram {
    static let usage = """
        usage: fuzz --list                   prints the names of the targets
               fuzz --prepare TARGET FOLDER  writes first inputs to FOLDER/seeds and words to FOLDER/words
               fuzz TARGET ARGUMENT…         runs libFuzzer with these arguments; -help=1 lists them
        """

    /// The target as an argument that libFuzzer ignores.
    private static let targetFlag = "--target="

    static func main() throws {
        var arguments = CommandLine.arguments.dropFirst()
        let isPreparation = arguments.first == "--prepare"
        if isPreparation { arguments.removeFirst() }
        if arguments.first == "--list" { return print(Targets.all.map(\.name).joined(separator: "\n")) }
        // libFuzzer starts this program again with the arguments that begin with a dash, to merge or to shorten inputs.
        let word = arguments.popFirst() ?? ""
        let name = word.hasPrefix(Self.targetFlag) ? String(word.dropFirst(Self.targetFlag.count)) : word
        guard let entry = Targets.all.first(where: { $0.name == name }) else {
            print(Self.usage)
            exit(64)
        }
        let folder = FileManager.default.temporaryDirectory.appending(path: "remote-pin-fuzz-\(getpid())").path
        try DurableFile.makeFolder(folder)
        let target = try entry.make(folder)
        var status: Int32 = 0
        if isPreparation {
            try Self.prepare(target, in: arguments.first ?? ".")
        } else {
            status = Engine.run(target, arguments: [CommandLine.arguments[0], Self.targetFlag + name] + arguments)
        }
        try? FileManager.default.removeItem(atPath: folder)
        exit(status)
    }

    private static func prepare(_ target: any FuzzTarget, in folder: String) throws {
        try FileManager.default.createDirectory(atPath: "\(folder)/seeds", withIntermediateDirectories: true)
        let haveStructure = target.seeds.filter { target.nodes(of: $0) != nil }.count
        require(target.format == nil || 2 * haveStructure >= target.seeds.count, "most seeds have no structure")
        for (number, seed) in target.seeds.enumerated() {
            try Data(seed).write(to: URL(filePath: "\(folder)/seeds/seed-\(number)"))
        }
        // A dictionary of libFuzzer: one word per line in quotes, with escaped bytes.
        let lines = target.words.map { word in
            "\""
                + word.utf8.map { byte in
                    let digits = String(byte, radix: 16)
                    return "\\x\(byte < 16 ? "0" : "")\(digits)"
                }.joined() + "\"\n"
        }
        try Data(lines.joined().utf8).write(to: URL(filePath: "\(folder)/words"))
    }
}
