@_spi(Engines) import HabitStore

extension SQLiteExpression {
    /// A value that SQL computes exactly; nil for arithmetic (which traps in Swift), Characters, lists and links.
    mutating func value(_ expression: BoundExpression) -> Operand? {
        switch expression {
        case .literal(.null): return Operand(sql: "NULL", canBeNull: true)
        case .literal(let value): return literal(value).map { Operand(sql: $0, canBeNull: false) }
        case .attribute(let path, let position, let kind, let isOptional):
            guard isComparable(kind) else { return nil }
            return nested(path.hops.isEmpty ? 0 : 11) { $0.column(path, position) }
                .map { Operand(sql: $0, canBeNull: isOptional) }
        case .count(let collection, let inner):
            return nested(12) { $0.members(collection, inner, .value.forWhere, isNegated: false) }
                .map { Operand(sql: "(SELECT COUNT(*) \($0.sql))", canBeNull: false) }
        case .length(let inner): return nested(3) { $0.length(inner) }
        case .coalesce(let first, let second):
            return nested(4) { writer in
                guard let first = writer.value(first), let second = writer.value(second) else { return nil }
                return Operand(
                    sql: "COALESCE(\(first.sql), \(second.sql))",
                    canBeNull: first.canBeNull && second.canBeNull
                )
            }
        case .conditional(let test, let first, let second):
            return nested(5) { writer in
                guard let test = writer.condition(test, .value.forWhere), let first = writer.value(first),
                    let second = writer.value(second)
                else { return nil }
                return Operand(
                    sql: "CASE WHEN \(test.sql) THEN \(first.sql) ELSE \(second.sql) END",
                    canBeNull: first.canBeNull || second.canBeNull
                )
            }
        case .least, .greatest, .caseInsensitiveOrder, .arithmetic: return nil
        case .exists, .not, .and, .or, .compare, .isIn, .text, .some, .every:
            return nested(1) { $0.condition(expression, .value) }.map { Operand(sql: "(\($0.sql))", canBeNull: false) }
        }
    }

    /// A constant, as a parameter.
    mutating func literal(_ value: Value) -> String? {
        switch value {
        case .null: return "NULL"
        case .bool, .int, .double, .date, .uuid, .data: return bind(value)
        case .string: return textIsCanonical ? bind(value) : nil
        case .strings, .links: return nil
        }
    }

    /// Whether comparing the bytes of this kind gives the same order and equality as in Swift.
    func isComparable(_ kind: AttributeKind) -> Bool {
        switch kind {
        case .bool, .int, .double, .date, .uuid, .data: return true
        case .string: return textIsCanonical
        case .strings, .links: return false
        }
    }

    /// Whether a value is nil, which SQL can answer for every kind.
    mutating func nullTest(_ expression: BoundExpression) -> String? {
        guard case .attribute(let path, let position, let kind, let isOptional) = expression else {
            // A value that cannot be nil is left out, along with its constants.
            let count = bindings.count
            guard let value = value(expression) else { return nil }
            if value.canBeNull { return "\(value.sql) IS NULL" }
            bindings.removeSubrange(count...)
            return "0"
        }
        guard isOptional else { return "0" }
        // Links are nil only if there is no record.
        let asked = kind == .links ? 0 : position
        return nested(path.hops.isEmpty ? 0 : 11) { $0.column(path, asked) }.map { "\($0) IS NULL" }
    }

    /// The number of links or bytes. Only Swift can count Characters.
    private mutating func length(_ expression: BoundExpression) -> Operand? {
        if case .attribute(let path, let position, .links, let isOptional) = expression {
            guard let links = linkTable(path, position), let owner = column(path, 0) else { return nil }
            let count = "(SELECT COUNT(*) FROM \(links.name) WHERE owner = \(owner))"
            guard isOptional else { return Operand(sql: count, canBeNull: false) }
            return Operand(sql: "CASE WHEN \(owner) IS NOT NULL THEN \(count) END", canBeNull: true)
        }
        guard expression.givesData, let data = value(expression) else { return nil }
        return Operand(sql: "length(\(data.sql))", canBeNull: data.canBeNull)
    }

    /// Whether a text is empty. Only Swift can compute other lengths, but the empty text has a single form.
    mutating func compareLength(
        _ comparison: FilterExpression.Comparison,
        _ left: BoundExpression,
        _ right: BoundExpression,
        _ use: Use
    ) -> Condition? {
        guard case .length(.attribute(let path, let position, .string, let isOptional)) = left else { return nil }
        guard let isLong = comparison.asksForAny(than: right) else { return nil }
        return nested(path.hops.isEmpty ? 0 : 11) { writer in
            guard let text = writer.column(path, position) else { return nil }
            // Nil has no length: it is not equal to 0, nor greater or less.
            if isOptional, comparison == .notEqual { return Condition(sql: "\(text) IS NOT ''", isExact: true) }
            return writer.leaf("\(text) \(isLong ? "<>" : "=") ''", canBeNull: isOptional, use)
        }
    }

    // MARK: Paths

    /// A column of the record that a path leads to; NULL if there is no such record.
    mutating func column(_ path: BoundPath, _ position: Int) -> String? {
        guard let (record, rest) = resolve(path) else { return nil }
        guard !rest.isEmpty else { return "\(record.alias).\(record.table.columns[position])" }
        guard let (source, last) = follow(rest, from: record) else { return nil }
        return "(SELECT \(last.alias).\(last.table.columns[position]) \(source))"
    }

    /// Whether a path leads to a record.
    mutating func exists(_ path: BoundPath) -> Condition? {
        guard let (record, rest) = resolve(path) else { return nil }
        guard !rest.isEmpty else { return .always }
        return nested(9) { $0.follow(rest, from: record) }
            .map { Condition(sql: "EXISTS (SELECT 1 \($0.source))", isExact: true) }
    }

    /// `FROM` and `WHERE` that follow the hops, and the record at their end.
    private mutating func follow(
        _ hops: ArraySlice<BoundPath.Hop>,
        from start: Record
    ) -> (source: String, last: Record)? {
        guard hops.count <= 8 else { return nil }
        var record = start
        var source = ""
        var condition = ""
        for hop in hops {
            let reference = "\(record.alias).\(record.table.columns[hop.attribute])"
            record = Record(table: tables[hop.destination], alias: newAlias())
            condition = visit(.related, record.alias) + condition
            if source.isEmpty {
                source = "FROM \(record.table.name) AS \(record.alias)"
                condition += "\(record.alias).\"id\" = \(reference)"
            } else {
                source += " JOIN \(record.table.name) AS \(record.alias) ON \(record.alias).\"id\" = \(reference)"
            }
        }
        return (source + " WHERE " + condition, record)
    }

    /// A term that counts a record as visited before any other condition is evaluated; empty if visits are not counted.
    func visit(_ kind: SQLiteVisits.Kind, _ alias: String) -> String {
        // With this likelihood, SQLite's planner expects that the term excludes nothing.
        countsVisits ? "likelihood(habitstore_visit(\(kind.rawValue), \(alias).\"id\"), 1.0) AND " : ""
    }

    /// The link table of a links attribute at the end of a path.
    func linkTable(_ path: BoundPath, _ position: Int) -> SQLiteLinkTable? {
        guard let (record, rest) = resolve(path) else { return nil }
        return (rest.last.map { tables[$0.destination] } ?? record.table).links[position]
    }
}

extension BoundExpression {
    /// Whether the value is of the kind data, as far as can be seen here.
    fileprivate var givesData: Bool {
        switch self {
        case .attribute(_, _, .data, _), .literal(.data): return true
        case .coalesce(let first, let second): return first.givesData && second.givesData
        case .conditional(_, let first, let second): return first.givesData && second.givesData
        default: return false
        }
    }
}
