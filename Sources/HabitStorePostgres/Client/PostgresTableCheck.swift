@_spi(Engines) import HabitStore

/// Finds what is wrong with the tables on a server, as the connected user sees them.
struct PostgresTableCheck {
    /// Queries the tables, one row each, and their columns. Stores do not depend on it, so it may use features that some products
    /// lack.
    static let calls = [
        PostgresCall(tables, .texts(PostgresTables.all.map(\.name))),
        PostgresCall(columns, .texts(PostgresTables.all.map(\.name))),
    ]

    /// What each name refers to, according to `search_path`.
    private static let tables = PostgresStatement(
        name: "hs_check_tables",
        text: """
            SELECT n.name, s.nspname::text, c.relpersistence::text, c.relkind::text, c.relrowsecurity,
            (SELECT string_agg(t.tgname, ', ' ORDER BY t.tgname) FROM pg_trigger t
            WHERE t.tgrelid = c.oid AND NOT t.tgisinternal),
            (SELECT string_agg(r.rulename, ', ' ORDER BY r.rulename) FROM pg_rewrite r WHERE r.ev_class = c.oid),
            (SELECT string_agg(p.name, ', ') FROM unnest('{SELECT,INSERT,UPDATE,DELETE}'::text[]) AS p (name)
            WHERE NOT has_table_privilege(c.oid, p.name)),
            (SELECT string_agg(os.nspname, ', ' ORDER BY os.nspname) FROM pg_class o JOIN pg_namespace os ON os.oid = o.relnamespace
            WHERE o.relname = n.name AND o.oid <> c.oid AND os.nspname = ANY(current_schemas(true))),
            (SELECT string_agg(k.attname, ', ' ORDER BY array_position(i.indkey::smallint[], k.attnum)) FROM pg_index i
            JOIN pg_attribute k ON k.attrelid = c.oid AND k.attnum = ANY(i.indkey::smallint[])
            WHERE i.indrelid = c.oid AND i.indisprimary)
            FROM unnest($1::text[]) AS n (name) JOIN pg_class c ON c.oid = to_regclass(n.name)
            JOIN pg_namespace s ON s.oid = c.relnamespace
            """
    )

    /// Each table's columns, with their types and whether an insert must provide a value.
    private static let columns = PostgresStatement(
        name: "hs_check_columns",
        text: """
            SELECT n.name, a.attname::text, format_type(a.atttypid, a.atttypmod), a.attnotnull AND NOT a.atthasdef
            FROM unnest($1::text[]) AS n (name) JOIN pg_attribute a ON a.attrelid = to_regclass(n.name)
            WHERE a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum
            """
    )

    /// One line for each problem; empty if there is none.
    private(set) var lacks: [String] = []

    /// - Parameter answers: the answers to ``calls``.
    init(_ answers: [PostgresResult]) throws {
        let (tables, columns) = (answers[0], answers[1])
        guard tables.count > 0 else {
            lacks = ["it has no tables for stores; run `habitstore server prepare`"]
            return
        }
        var schemas: Set<String> = []
        for table in PostgresTables.all {
            guard let row = try (0..<tables.count).first(where: { try tables.text($0, 0) == table.name }) else {
                lacks.append(
                    "it has no table \(table.name), or the user may not see it; run `habitstore server prepare`"
                )
                continue
            }
            schemas.insert(try tables.text(row, 1))
            try check(table, tables, row)
            try checkColumns(table, columns)
        }
        if schemas.count > 1 {
            lacks.append(
                "the tables are in several schemas (\(schemas.sorted().joined(separator: ", "))); set search_path to one of them"
            )
        }
    }

    private mutating func check(_ table: PostgresTables.Table, _ answer: PostgresResult, _ row: Int) throws {
        let name = table.name
        func list(_ column: Int) throws -> String? {
            answer.bytes(row, column) == nil ? nil : try answer.text(row, column)
        }
        switch try answer.text(row, 2) {
        case "u":
            lacks.append(
                "\(name) is unlogged: a crash of the server empties it, and a standby has none of it; set it to LOGGED"
            )
        case "t": lacks.append("\(name) is a temporary table: it goes with its connection; drop it")
        default: break
        }
        let kind = try answer.text(row, 3)
        if kind != "r", kind != "p" {
            lacks.append("\(name) is not a table; drop it, and run `habitstore server prepare`")
        }
        if try answer.number(row, 4, as: UInt8.self) != 0 {
            lacks.append("\(name) has row level security, by which rows are hidden from some users; disable it")
        }
        if let triggers = try list(5) {
            lacks.append("\(name) has triggers (\(triggers)), which may change what is written; drop them")
        }
        if let rules = try list(6) {
            lacks.append("\(name) has rules (\(rules)), which may change what is asked and written; drop them")
        }
        if let rights = try list(7) {
            lacks.append("the user lacks rights on \(name) (\(rights)); grant them")
        }
        if let others = try list(8) {
            lacks.append(
                "there is another \(name) on search_path (that of \(try answer.text(row, 1)) is used, and not that of \(others)); "
                    + "drop one of them, or set search_path"
            )
        }
        let (key, wanted) = (try list(9) ?? "", table.key.joined(separator: ", "))
        if key != wanted { lacks.append("\(name) has the primary key (\(key)), and should have (\(wanted))") }
    }

    private mutating func checkColumns(_ table: PostgresTables.Table, _ answer: PostgresResult) throws {
        let rows = try (0..<answer.count).filter { try answer.text($0, 0) == table.name }
        for column in table.columns {
            guard let row = try rows.first(where: { try answer.text($0, 1) == column.name }) else {
                lacks.append("\(table.name) has no column \(column.name) (\(column.type)): it is of another version")
                continue
            }
            let type = try answer.text(row, 2)
            guard type != column.type else { continue }
            lacks.append("\(table.name).\(column.name) is of type \(type), and should be \(column.type)")
        }
        let names = Set(table.columns.map(\.name))
        for row in rows where try !names.contains(answer.text(row, 1)) && answer.number(row, 3, as: UInt8.self) != 0 {
            lacks.append("\(table.name) has a column \(try answer.text(row, 1)) that must be given a value; drop it")
        }
    }
}
