internal import ConfigText
internal import Yams

/// One source's word on one setting.
struct Assignment {
    var declaration: any SettingDeclaration
    var raw: RawValue
    var origin: SettingOrigin
}

/// What one source says, and what is wrong with it.
struct SettingsSource {
    var assignments: [Assignment] = []
    var problems: [SettingsProblem] = []
    /// Whether nothing could be read at all, so that nobody knows what it sets.
    var isUnreadable = false

    /// Reads the variables that begin with the settings' prefix; an unknown one is a problem, never ignored.
    init(environment: [String: String], folder: String) {
        for (name, value) in environment.sorted(by: { $0.key < $1.key }) {
            guard name.hasPrefix(SettingTable.environmentPrefix), !SettingTable.foreignVariables.contains(name),
                !SettingTable.foreignPrefixes.contains(where: name.hasPrefix)
            else { continue }
            guard let declaration = SettingTable.all.first(where: { $0.environmentName == name }) else {
                let known = SettingTable.all.map(\.environmentName)
                self.addUnknown("variable", name: name, among: known, place: name)
                continue
            }
            let raw = Self.raw(value, for: declaration, folder: folder)
            self.assignments.append(Assignment(declaration: declaration, raw: raw, origin: .environment(name)))
        }
    }

    /// Reads `--NAME VALUE` flags.
    init(flags: [(name: String, value: String)], folder: String) {
        var seen: Set<String> = []
        for (name, value) in flags {
            guard let declaration = SettingTable.all.first(where: { $0.name == name }) else {
                self.addUnknown("setting", name: name, among: SettingTable.all.map(\.name), place: "--\(name)")
                continue
            }
            if !seen.insert(name).inserted {
                self.problems.append(SettingsProblem(place: "--\(name)", message: "is given twice"))
            }
            let raw = Self.raw(value, for: declaration, folder: folder)
            self.assignments.append(Assignment(declaration: declaration, raw: raw, origin: .flag(name)))
        }
    }

    /// Reads a file's text: sections with settings in them.
    init(yaml: String, path: String, folder: String) {
        do throws(YAMLFault) {
            guard let root = try YAMLText.compose(yaml) else { return }
            self.readSections(root, path: path, folder: folder)
        } catch {
            let place = error.line.map { "\(path):\($0)" } ?? path
            self.problems.append(SettingsProblem(place: place, message: error.message))
            self.isUnreadable = true
        }
    }

    private mutating func readSections(_ root: Node, path: String, folder: String) {
        if Self.isEmpty(root) { return }
        guard let sections = root.mapping else {
            self.problems.append(
                SettingsProblem(place: Self.place(root, in: path), message: "sections are expected here, as `pin:`")
            )
            return
        }
        for (key, section) in sections {
            let group = key.string ?? ""
            guard SettingTable.groups.contains(where: { $0.name == group }) else {
                let known = SettingTable.groups.map(\.name)
                self.addUnknown("section", name: group, among: known, place: Self.place(key, in: path))
                continue
            }
            if Self.isEmpty(section) { continue }
            guard let settings = section.mapping else {
                let place = Self.place(section, in: path)
                self.problems.append(
                    SettingsProblem(place: place, message: "`\(group)` is a section; its settings stand under it")
                )
                continue
            }
            for (key, value) in settings {
                self.readSetting("\(group).\(key.string ?? "")", key: key, value: value, path: path, folder: folder)
            }
        }
    }

    private mutating func readSetting(_ name: String, key: Node, value: Node, path: String, folder: String) {
        let place = Self.place(key, in: path)
        guard let declaration = SettingTable.all.first(where: { $0.name == name }) else {
            self.addUnknown("setting", name: name, among: SettingTable.all.map(\.name), place: place)
            return
        }
        let origin = SettingOrigin.file(path, line: key.mark?.line ?? 0)
        if let sequence = value.sequence {
            let texts = sequence.compactMap { $0.scalar?.string }
            guard texts.count == sequence.count else {
                self.problems.append(SettingsProblem(place: place, message: "`\(name)` takes a list of plain values"))
                return
            }
            let raw = RawValue(texts: texts, isList: true, folder: folder)
            self.assignments.append(Assignment(declaration: declaration, raw: raw, origin: origin))
        } else if let scalar = value.scalar {
            if declaration.isList {
                let message = "`\(name)` takes a list in brackets: \(declaration.allowed)"
                self.problems.append(SettingsProblem(place: place, message: message))
                return
            }
            let raw = RawValue(texts: [scalar.string], isList: false, folder: folder)
            self.assignments.append(Assignment(declaration: declaration, raw: raw, origin: origin))
        } else {
            self.problems.append(
                SettingsProblem(place: place, message: "`\(name)` takes a \(declaration.form): \(declaration.allowed)")
            )
        }
    }

    private mutating func addUnknown(_ what: String, name: String, among known: [String], place: String) {
        let hint = NearestName.to(name, among: known).map { "; did you mean `\($0)`?" } ?? ""
        let allowed = known.count <= 20 && hint.isEmpty ? "; known are \(known.joined(separator: ", "))" : ""
        self.problems.append(SettingsProblem(place: place, message: "unknown \(what) `\(name)`\(hint)\(allowed)"))
    }

    private static func raw(_ text: String, for declaration: any SettingDeclaration, folder: String) -> RawValue {
        // A variable that was not filled in, as `${BLOCKS}`, is no empty list, which would take every waiting time away.
        guard declaration.isList, text.contains(where: { $0 != " " }) else {
            return RawValue(texts: [text], isList: false, folder: folder)
        }
        let inner = text.hasPrefix("[") && text.hasSuffix("]") ? text.dropFirst().dropLast() : text[...]
        let texts = inner.split(separator: ",").map { part in
            String(part.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
        }
        return RawValue(texts: texts, isList: true, folder: folder)
    }

    private static func isEmpty(_ node: Node) -> Bool {
        guard let scalar = node.scalar else { return false }
        return scalar.style == .plain && (scalar.string.isEmpty || scalar.string == "~" || scalar.string == "null")
    }

    private static func place(_ node: Node, in path: String) -> String {
        node.mark.map { "\(path):\($0.line)" } ?? path
    }
}
