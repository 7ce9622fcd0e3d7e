internal import Foundation
internal import PostgreSQLClient

/// The objects in the store's schema, each with its kind, its name, and its definition if that matters.
///
/// Invariant (G3, G4): no verdict is sent unless the schema has exactly the objects that this program makes. A trigger,
/// a rule or a row security policy can undo each count right after it was written, in every transaction from then on.
/// So can each expression of an index, of a constraint, of a generated column or of extended statistics, since
/// PostgreSQL accepts a function that is declared `immutable` and writes.
///
/// Every batch and transaction returns ``expression``, which costs nothing as long as the schema is unchanged. It rests
/// on PostgreSQL's own rule for prepared statements: a statement is parsed again if a table that it names has changed,
/// and the literal `'now'` is the time of the parsing. The expression names every table of the store. For a statement
/// whose time of parsing this session has recorded as checked, it is the recorded times, and otherwise it contains all
/// objects as the statement itself saw them. An object that no table depends on, such as a function, has no effect on a
/// statement that is not parsed again; ``StoreSession`` repeats the full check each hour.
///
/// Threat: code that runs in the same statement, such as that of a policy, records the time itself. The caller
/// therefore compares the times with those that it has recorded.
struct SchemaObjects {
    /// The time at which the statement was parsed.
    let parsed: Substring
    private let version: Int64
    /// The definitions by kind and name.
    private let found: [String: String]

    /// The difference of a schema whose objects cannot be read.
    static let unreadable = ["its objects cannot be read"]

    /// The setting with the times of parsing that were checked; a new session has none.
    static let checkedSetting = "remote_pin.parsed"

    /// The beginning of ``expression``'s text for a statement that was checked; the setting follows.
    static let checkedPrefix = "checked "

    /// An SQL expression for the recorded times, or for the objects that the statement saw.
    static let expression = Self.expression(naming: Schema.current.tables(in: Schema.current.version))

    /// Returns the expression, whose statement depends on these tables.
    ///
    /// `query_to_xml` runs a query only if it is called, in the snapshot of the calling statement. A subquery would
    /// cost each batch up to a fifth of its time even if it is not needed.
    static func expression(naming tables: [String]) -> String {
        """
        case when position('now'::timestamptz::text in pg_catalog.current_setting('\(Self.checkedSetting)')) > 0
            then '\(Self.checkedPrefix)' || pg_catalog.current_setting('\(Self.checkedSetting)')
            when pg_catalog.num_nulls(\(tables.map { "'\($0)'::regclass" }.joined(separator: ", "))) = 0
            then 'now'::timestamptz::text || pg_catalog.convert_from(pg_catalog.decode(substring(
            pg_catalog.query_to_xml($query$
            select pg_catalog.encode(pg_catalog.convert_to(\(Self.lines), 'utf8'), 'hex') as lines
            from (\(Self.query)) objects $query$, false, true, '')::text from '>([0-9a-f]+)<'), 'hex'), 'utf8') end
        """
    }

    /// A statement that returns ``expression``'s text for the present schema.
    static let statement = "select pg_catalog.now()::text || \(Self.lines) from (\(Self.query)) objects"

    /// Each object as a line of JSON, because the name of an object may contain any character.
    private static let lines =
        "pg_catalog.string_agg(e'\\n' || pg_catalog.json_build_array(name, definition)::text, '')"

    /// Returns the objects by their kind and name, with the definition if it matters.
    ///
    /// Threat: an object that another program made makes the query return something else. A function or an operator of
    /// the schema is preferred to a built-in one if its parameters fit better. So each function is named with its
    /// schema, and each operand has the type that a built-in operator takes.
    ///
    /// Objects that can change neither a result nor a row of the store's statements are left out, because
    /// administrators and their tools make them: views, types, statistics of columns, collations, text search objects,
    /// publications and default privileges. Functions, operators and conversions are named, because PostgreSQL may
    /// choose one of them for an expression. Event triggers do not run for the store's statements, and casts, operators
    /// and functions outside the schema are not looked up by them.
    private static let query = """
        with relation as (
            select oid, relname::text as relname, relkind, relpersistence,
                relrowsecurity or relforcerowsecurity as is_secured
            from pg_class
            where relnamespace = 'remote_pin'::regnamespace::oid and relkind not in ('i', 'I', 'v', 'm', 'c')
        )
        select 'version' as name, schema_version::text as definition from facts
        union all
        select pg_catalog.concat_ws(' ',
            case relpersistence when 'u' then 'unlogged' end,
            case relkind when 'r' then 'table' when 'S' then 'sequence' when 'f' then 'foreign table'
                when 'p' then 'partitioned table' else relkind::text end,
            relname), null
        from relation
        union all
        select 'row security of ' || relname, null from relation where is_secured
        union all
        select 'column ' || relname || '.' || attname::text,
            pg_catalog.concat_ws(' ', pg_catalog.format_type(atttypid, atttypmod),
            'collate ' || nullif(attcollation, typcollation)::regcollation::text,
            case when attnotnull then 'not null' end,
            case attgenerated when '' then 'default ' else 'generated always as ' end
                || pg_catalog.pg_get_expr(adbin, adrelid),
            case attidentity when 'a' then 'generated always as identity' when 'd' then 'generated as identity' end)
        from relation r join pg_attribute on attrelid = r.oid and attnum > 0 and not attisdropped
            join pg_type t on t.oid = atttypid left join pg_attrdef on adrelid = attrelid and adnum = attnum
        where relkind in ('r', 'p', 'f')
        union all
        select pg_catalog.concat_ws(' ', case when not indisvalid then 'unfinished' end,
            'index ' || c.relname::text || ' on ' || r.relname), pg_catalog.pg_get_indexdef(indexrelid)
        from relation r join pg_index on indrelid = r.oid join pg_class c on c.oid = indexrelid
        union all
        select 'constraint ' || conname::text || ' on ' || relname, pg_catalog.pg_get_constraintdef(c.oid)
        from relation r join pg_constraint c on conrelid = r.oid where contype in ('c', 'f', 'x', 't')
        union all
        select 'statistics ' || stxname::text || ' on ' || relname, null
        from relation r join pg_statistic_ext on stxrelid = r.oid where stxexprs is not null
        union all
        select 'trigger ' || tgname::text || ' on ' || relname, null from relation r join pg_trigger on tgrelid = r.oid
        union all
        select 'rule ' || rulename::text || ' on ' || relname, null from relation r join pg_rewrite on ev_class = r.oid
        union all
        select 'policy ' || polname::text || ' on ' || relname, null from relation r join pg_policy on polrelid = r.oid
        union all
        select 'inheritance of ' || inhparent::regclass::text || ' by ' || inhrelid::regclass::text, null
        from pg_inherits
        where inhrelid in (select oid from relation) or inhparent in (select oid from relation)
        union all
        select pg_catalog.pg_describe_object(classid, objid, 0), null from pg_depend
        where refclassid = 'pg_namespace'::regclass::oid and refobjid = 'remote_pin'::regnamespace::oid
            and classid not in (
                'pg_class'::regclass::oid, 'pg_type'::regclass::oid, 'pg_statistic_ext'::regclass::oid,
                'pg_collation'::regclass::oid, 'pg_ts_config'::regclass::oid, 'pg_ts_dict'::regclass::oid,
                'pg_ts_parser'::regclass::oid, 'pg_ts_template'::regclass::oid, 'pg_default_acl'::regclass::oid,
                'pg_publication_namespace'::regclass::oid)
        """

    /// Parses the text of ``expression`` or ``statement``; returns nil for any other text, also for the recorded times.
    init?(_ text: String) {
        let parts = text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        guard parts.count > 1 else { return nil }
        var found: [String: String] = [:]
        for part in parts.dropFirst() {
            guard let words = try? JSONDecoder().decode([String?].self, from: Data(part)), words.count == 2,
                let name = words[0]
            else { return nil }
            let definition = words[1] ?? ""
            found[name] = found[name].map { "\($0)\n\(definition)" } ?? definition
        }
        guard let version = found.removeValue(forKey: "version").flatMap({ Int64($0) }) else { return nil }
        (self.parsed, self.version, self.found) = (Substring(parts[0]), version, found)
    }

    /// Returns each object that this program does not make, makes otherwise, or misses; empty if there is none.
    ///
    /// During a rolling upgrade, servers of the previous version continue on their open connections. They accept what a
    /// migration to the next version may add (``mayBeAdded(_:_:to:)``), because it changes nothing that they write.
    func differences(from schema: Schema) -> [String] {
        let isNext = self.version == schema.version + 1
        guard isNext || (1...schema.version).contains(self.version) else { return ["schema version \(self.version)"] }
        let own = schema.lines(in: min(self.version, schema.version))
        let expected = Dictionary(uniqueKeysWithValues: own.map { Self.parts(of: $0) })
        func isUnknown(_ name: String, _ definition: String) -> Bool {
            // Only a column's default, which is compared, makes a sequence matter.
            if expected[name] != nil || name.hasPrefix("sequence ") { return false }
            if Self.isBeingRebuilt(name, definition, expected) { return false }
            if isNext, self.mayBeAdded(name, definition, to: expected) { return false }
            return true
        }
        let unknown = self.found.filter { isUnknown($0.key, $0.value) }.keys
        let changed = expected.filter { name, definition in
            self.found[name].map { Self.compared($0) != definition } ?? false
        }.keys
        let missing = expected.keys.filter { self.found[$0] == nil }
        return unknown.sorted().map { "\($0) is unknown" } + changed.sorted().map { "\($0) is changed" }
            + missing.sorted().map { "\($0) is missing" }
    }

    /// Returns true for an object of the next version that runs no code in a statement of this one: a table with
    /// everything that belongs to it, a column with a constant default, and an index of columns.
    ///
    /// Threat: a writer of the database raises the version of the schema, and then makes an index of an expression.
    private func mayBeAdded(_ name: String, _ definition: String, to expected: [String: String]) -> Bool {
        let words = name.split(separator: " ", maxSplits: 1)
        let table = words[0] == "column" ? words[1].prefix { $0 != "." } : words[1].split(separator: " ").last ?? ""
        if expected["table \(table)"] == nil {
            return ["table", "column", "index", "constraint"].contains(words[0]) && self.found["table \(table)"] != nil
        }
        switch words[0] {
        case "column":
            let form = #/(bytea|text|bigint|boolean)( not null)?( default ('[^']*'|-?[0-9]+|true|false)(::[a-z]+)?)?/#
            return definition.wholeMatch(of: form) != nil
        case "index":
            let form =
                #/CREATE (UNIQUE )?INDEX \w+ ON remote_pin\.\w+ USING btree \([a-z0-9_]+(, [a-z0-9_]+)*\)/#
            return definition.wholeMatch(of: form) != nil
        default: return false
        }
    }

    /// Returns true for the second copy of an expected index that `reindex concurrently` makes for a while.
    ///
    /// Threat: an index whose creation was interrupted is not valid, and PostgreSQL still runs its expressions for
    /// each row.
    private static func isBeingRebuilt(_ name: String, _ definition: String, _ expected: [String: String]) -> Bool {
        guard let match = name.wholeMatch(of: #/unfinished (index ([a-z0-9_]+)_cc(?:new|old)[0-9]*( on [a-z0-9_]+))/#)
        else { return false }
        let (own, copy) = (match.output.2, match.output.1.split(separator: " ")[1])
        return expected["index \(own)\(match.output.3)"]
            == Self.compared(definition.replacing("INDEX \(copy) ON", with: "INDEX \(own) ON"))
    }

    /// Splits a line of ``SchemaReader`` into the name of the object and its definition.
    private static func parts(of line: String) -> (name: String, definition: String) {
        let parts = line.split(separator: "\t", maxSplits: 1)
        return (String(parts[0]), parts.count == 2 ? Self.compared(String(parts[1])) : "")
    }

    /// Returns a definition as it is compared: PostgreSQL adds parentheses to expressions and writes keywords in
    /// capital letters.
    private static func compared(_ definition: String) -> String {
        definition.lowercased().filter { $0 != "(" && $0 != ")" && $0 != " " }
    }
}

/// Derives the lines of ``SchemaObjects`` from the statements that make the store's schema.
///
/// It knows only the forms that these statements have, and the names that PostgreSQL gives to keys and checks.
struct SchemaReader {
    private var lines: [String] = []

    static func lines(in statements: some Sequence<String>) -> [String] {
        var reader = Self()
        for text in statements {
            let words = text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
            for statement in words.split(separator: ";") { reader.read(statement.drop { $0 == " " }) }
        }
        return reader.lines
    }

    private mutating func read(_ text: Substring) {
        var statement = text
        if statement.hasPrefix("do $body$ begin ") { statement = statement.dropFirst("do $body$ begin ".count) }
        if let table = statement.after("create table ") {
            let open = table.firstIndex(of: "(") ?? table.endIndex
            let name = table[..<open].split(separator: " ")[0]
            self.lines.append("table \(name)")
            for item in table[open...].items { self.readItem(item, of: name) }
        } else if let index = statement.after("create index ") {
            let words = index.split(separator: " ", maxSplits: 3)
            self.add(index: words[0], on: words[2], isUnique: false, words[3])
        } else if let change = statement.after("alter table ") {
            let words = change.split(separator: " ", maxSplits: 3)
            if words[1] == "add" { self.readItem(words[3], of: words[0]) }
        }
    }

    private mutating func readItem(_ item: Substring, of table: Substring) {
        if let columns = item.after("primary key ") {
            return self.add(index: "\(table)_pkey", on: table, isUnique: true, columns)
        }
        let words = item.split(separator: " ", maxSplits: 1)
        let name = words[0]
        var definition = words[1]
        var isRequired = false
        func take(_ part: String) -> Bool {
            guard let range = definition.firstRange(of: part) else { return false }
            definition.removeSubrange(range)
            return true
        }
        if take(" primary key") {
            isRequired = true
            self.add(index: "\(table)_pkey", on: table, isUnique: true, "(\(name))")
        }
        if take(" unique") { self.add(index: "\(table)_\(name)_key", on: table, isUnique: true, "(\(name))") }
        if let check = definition.firstRange(of: " check ") {
            self.lines.append("constraint \(table)_\(name)_check on \(table)\tcheck \(definition[check.upperBound...])")
            definition = definition[..<check.lowerBound]
        }
        if definition.hasSuffix("as identity") {
            isRequired = true
            self.lines.append("sequence \(table)_\(name)_seq")
        }
        if take(" not null") || isRequired {
            let type = definition.prefixMatch(of: #/\S+( collate \S+)?/#)?.0 ?? definition
            definition = "\(type) not null\(definition.dropFirst(type.count))"
        }
        self.lines.append("column \(table).\(name)\t\(definition)")
    }

    private mutating func add(
        index name: some StringProtocol,
        on table: Substring,
        isUnique: Bool,
        _ columns: some StringProtocol
    ) {
        let kind = isUnique ? "unique index" : "index"
        let definition = "create \(kind) \(name) on remote_pin.\(table) using btree \(columns)"
        self.lines.append("index \(name) on \(table)\t\(definition)")
    }
}

extension Substring {
    /// The text after a prefix, or nil if the text does not start with it.
    fileprivate func after(_ prefix: String) -> Substring? {
        self.hasPrefix(prefix) ? self.dropFirst(prefix.count) : nil
    }

    /// The items of the list in the first parentheses, without the blanks around them.
    fileprivate var items: [Substring] {
        var (items, depth, start): ([Substring], Int, Index?) = ([], 0, nil)
        for place in self.indices {
            switch self[place] {
            case "(":
                depth += 1
                if depth == 1 { start = self.index(after: place) }
            case ")": depth -= 1
            default: break
            }
            guard let from = start, depth == 0 || (depth == 1 && self[place] == ",") else { continue }
            let item = self[from..<place].drop { $0 == " " }
            items.append(item.last == " " ? item.dropLast() : item)
            if depth == 0 { break }
            start = self.index(after: place)
        }
        return items
    }
}
