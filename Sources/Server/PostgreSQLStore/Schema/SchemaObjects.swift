internal import PostgreSQLClient

/// The objects in the store's schema, each as one line of text.
///
/// Invariant (G3, G4): no verdict is sent unless the schema has exactly the objects that this program makes. A trigger,
/// a rule or a row security policy can undo each count right after it was written, in every transaction from then on.
///
/// Every batch and transaction returns ``expression``, which costs nothing as long as the schema is unchanged. It rests
/// on PostgreSQL's own rule for prepared statements: a statement is parsed again if a table that it names has changed,
/// and the literal `'now'` is the time of the parsing. The expression names every table of the store. It is null for a
/// statement whose time of parsing this session has recorded as checked, and otherwise contains all objects as the
/// statement itself saw them. An object that no table depends on, such as a function, has no effect on a statement that
/// is not parsed again; ``StoreSession`` repeats the full check each hour.
struct SchemaObjects {
    /// The time at which the statement was parsed.
    let parsed: Substring
    private let version: Int64
    private let lines: Set<Substring>

    /// The difference of a schema whose objects cannot be read.
    static let unreadable = ["its objects cannot be read"]

    /// The setting with the times of parsing that were checked; a new session has none.
    static let checkedSetting = "remote_pin.parsed"

    /// An SQL expression that is null, or contains the objects that the statement saw.
    static let expression = Self.expression(naming: Schema.tables)

    /// A variant of ``expression`` for a store that lacks the tables of later versions.
    static let expressionOfFirstTables = Self.expression(naming: Schema.firstTables)

    /// Returns the expression, whose statement depends on these tables.
    ///
    /// `query_to_xml` runs a query only if it is called, in the snapshot of the calling statement. A subquery would
    /// cost each batch up to a fifth of its time even if it is not needed.
    private static func expression(naming tables: [String]) -> String {
        """
        case when position('now'::timestamptz::text in current_setting('\(Self.checkedSetting)')) > 0 then null
            when num_nulls(\(tables.map { "'\($0)'::regclass" }.joined(separator: ", "))) = 0
            then 'now'::timestamptz::text || convert_from(decode(substring(query_to_xml($query$
            select encode(convert_to(string_agg(e'\\n' || line, ''), 'utf8'), 'hex') as lines
            from (\(Self.query)) objects
            $query$, false, true, '')::text from '>([0-9a-f]+)<'), 'hex'), 'utf8') end
        """
    }

    /// A statement that returns ``expression``'s text for the present schema.
    static let statement = "select now()::text || string_agg(e'\\n' || line, '') from (\(Self.query)) objects"

    /// Returns the objects by their lines: kind and name, then a tab and the definition if it matters.
    ///
    /// Objects that can change neither a result nor a row of the store's statements are left out, because
    /// administrators and their tools make them: views, types, extended statistics, collations, text search objects,
    /// publications and default privileges. So is an index that is not valid, because `reindex concurrently` makes one
    /// for a while. Functions, operators and conversions are named, because PostgreSQL may choose one of them for an
    /// expression. Event triggers do not run for the store's statements, and casts, operators and functions outside the
    /// schema are not looked up by them.
    private static let query = """
        with relation as (
            select oid, relname, relkind, relpersistence, relrowsecurity or relforcerowsecurity as is_secured
            from pg_class
            where relnamespace = 'remote_pin'::regnamespace and relkind not in ('i', 'I', 'v', 'm', 'c')
        )
        select 'version ' || schema_version as line from facts
        union all
        select concat_ws(' ',
            case relpersistence when 'u' then 'unlogged' end,
            case relkind when 'r' then 'table' when 'S' then 'sequence' when 'f' then 'foreign table'
                when 'p' then 'partitioned table' else relkind::text end,
            relname)
        from relation
        union all
        select 'row security of ' || relname from relation where is_secured
        union all
        select concat_ws(' ', 'column ' || relname || '.' || attname || e'\\t' || format_type(atttypid, atttypmod),
            'collate ' || nullif(attcollation, typcollation)::regcollation::text,
            case when attnotnull then 'not null' end,
            case attgenerated when '' then 'default ' else 'generated always as ' end || pg_get_expr(adbin, adrelid),
            case attidentity when 'a' then 'generated always as identity' when 'd' then 'generated as identity' end)
        from relation r join pg_attribute on attrelid = r.oid and attnum > 0 and not attisdropped
            join pg_type t on t.oid = atttypid left join pg_attrdef on adrelid = attrelid and adnum = attnum
        where relkind in ('r', 'p', 'f')
        union all
        select 'index ' || c.relname || ' on ' || r.relname || e'\\t' || pg_get_indexdef(indexrelid)
        from relation r join pg_index on indrelid = r.oid join pg_class c on c.oid = indexrelid where indisvalid
        union all
        select 'constraint ' || conname || ' on ' || relname || e'\\t' || pg_get_constraintdef(c.oid)
        from relation r join pg_constraint c on conrelid = r.oid where contype in ('c', 'f', 'x', 't')
        union all
        select 'trigger ' || tgname || ' on ' || relname from relation r join pg_trigger on tgrelid = r.oid
        union all
        select 'rule ' || rulename || ' on ' || relname from relation r join pg_rewrite on ev_class = r.oid
        union all
        select 'policy ' || polname || ' on ' || relname from relation r join pg_policy on polrelid = r.oid
        union all
        select 'inheritance of ' || inhparent::regclass || ' by ' || inhrelid::regclass from pg_inherits
        where inhrelid in (select oid from relation) or inhparent in (select oid from relation)
        union all
        select pg_describe_object(classid, objid, 0) from pg_depend
        where refclassid = 'pg_namespace'::regclass and refobjid = 'remote_pin'::regnamespace
            and classid not in (
                'pg_class'::regclass, 'pg_type'::regclass, 'pg_statistic_ext'::regclass, 'pg_collation'::regclass,
                'pg_ts_config'::regclass, 'pg_ts_dict'::regclass, 'pg_ts_parser'::regclass,
                'pg_ts_template'::regclass, 'pg_default_acl'::regclass, 'pg_publication_namespace'::regclass)
        """

    /// Parses the text of ``expression`` or ``statement``.
    ///
    /// Returns nil for any other text.
    init?(_ text: String) {
        let parts = text.split(separator: "\n", omittingEmptySubsequences: false)
        let prefix = "version "
        let versions = parts.filter { $0.hasPrefix(prefix) }
        guard parts.count > 1, versions.count == 1, let version = Int64(versions[0].dropFirst(prefix.count)) else {
            return nil
        }
        self.parsed = parts[0]
        self.version = version
        self.lines = Set(parts.dropFirst().filter { $0 != versions[0] })
    }

    /// Returns each object that this program does not make, makes otherwise, or misses; empty if there is none.
    ///
    /// During a rolling upgrade, servers of the previous version continue on their open connections. They accept what a
    /// migration to the next version may add: tables, columns, indexes, checks and sequences. None of these changes
    /// what an earlier server writes, and no version has triggers, rules or policies.
    var differences: [String] {
        let isNext = self.version == Schema.version + 1
        guard isNext || (1...Schema.version).contains(self.version) else { return ["schema version \(self.version)"] }
        let own = SchemaReader.lines(in: Schema.statements(upTo: min(self.version, Schema.version)))
        let found = Dictionary(self.lines.map { Self.parts(of: $0) }) { $0 + "\n" + $1 }
        let expected = Dictionary(uniqueKeysWithValues: own.map { Self.parts(of: $0[...]) })
        // Only a column's default, which is compared, makes a sequence matter.
        let unknown = found.keys.filter {
            expected[$0] == nil && !$0.hasPrefix("sequence ") && !(isNext && Self.mayBeAdded($0))
        }
        let changed = expected.filter { name, definition in found[name].map { $0 != definition } ?? false }.keys
        let missing = expected.keys.filter { found[$0] == nil }
        return unknown.sorted().map { "\($0) is unknown" } + changed.sorted().map { "\($0) is changed" }
            + missing.sorted().map { "\($0) is missing" }
    }

    private static func mayBeAdded(_ name: String) -> Bool {
        ["table ", "column ", "index ", "constraint "].contains { name.hasPrefix($0) }
    }

    /// Splits a line into the name of the object and its definition.
    ///
    /// PostgreSQL adds parentheses to expressions and writes keywords in capital letters.
    private static func parts(of line: Substring) -> (name: String, definition: String) {
        let parts = line.split(separator: "\t", maxSplits: 1)
        let definition = parts.count == 2 ? parts[1].lowercased() : ""
        return (String(parts[0]), definition.filter { $0 != "(" && $0 != ")" && $0 != " " })
    }
}

/// Derives the lines of ``SchemaObjects`` from the statements that make the store's schema.
///
/// It knows only the forms that these statements have, and the names that PostgreSQL gives to keys and checks.
struct SchemaReader {
    private var lines: [String] = []

    static func lines(in statements: [String]) -> [String] {
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
            let type = definition.prefix { $0 != " " }
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
