import Foundation
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

extension SQLiteExpression {
    /// Swift compares Characters, SQL compares bytes. In NFC, equal Characters have equal bytes, so the bytes are found wherever
    /// the Characters are. The reverse is not true: a combining mark that follows makes another Character.
    mutating func text(
        _ test: FilterExpression.TextTest,
        _ text: BoundExpression,
        _ part: BoundExpression,
        _ use: Use
    ) -> Condition? {
        if case .attribute(let path, let position, .links, _) = text {
            return test == .contains ? containsLink(path, position, part) : .never
        }
        if part == .literal(.null) || text == .literal(.null) { return .never }
        guard use.allowsSuperset, textIsCanonical, test != .searches, text.givesText else { return nil }
        return attempt { $0.bytes(test, text, part, use) }
    }

    private mutating func bytes(
        _ test: FilterExpression.TextTest,
        _ text: BoundExpression,
        _ part: BoundExpression,
        _ use: Use
    ) -> Condition? {
        guard let text = nested(4, { $0.value(text) }) else { return nil }
        guard case .literal(.string(let constant)) = part else {
            guard let part = nested(4, { $0.value(part) }) else { return nil }
            let symbol = test == .beginsWith ? "= 1" : "> 0"
            return leaf(
                "instr(\(text.sql), \(part.sql)) \(symbol)",
                canBeNull: text.canBeNull || part.canBeNull,
                isExact: false,
                use
            )
        }
        // Every text contains the empty one.
        if constant.isEmpty { return Condition(sql: "\(text.sql) IS NOT NULL", isExact: true) }
        switch test {
        case .contains:
            let sql = "instr(\(text.sql), \(bind(.string(constant)))) > 0"
            return leaf(sql, canBeNull: text.canBeNull, isExact: false, use)
        case .beginsWith:
            var sql = "\(text.sql) >= \(bind(.string(constant)))"
            if let end = constant.endOfPrefix { sql = "(\(sql) AND \(text.sql) < \(bind(.string(end))))" }
            return leaf(sql, canBeNull: text.canBeNull, isExact: false, use)
        case .endsWith:
            let bytes = Data(constant.utf8)
            let start = bind(.int(-Int64(bytes.count)))
            let sql = "substr(CAST(\(text.sql) AS BLOB), \(start)) = \(bind(.data(bytes)))"
            return leaf(sql, canBeNull: text.canBeNull, isExact: false, use)
        case .searches: return nil
        }
    }

    private mutating func containsLink(_ path: BoundPath, _ position: Int, _ part: BoundExpression) -> Condition? {
        nested(path.hops.isEmpty ? 9 : 18) { writer in
            guard let links = writer.linkTable(path, position), let owner = writer.column(path, 0),
                let target = writer.value(part)
            else { return nil }
            return Condition(
                sql: "EXISTS (SELECT 1 FROM \(links.name) WHERE owner = \(owner) AND target = \(target.sql))",
                isExact: true
            )
        }
    }
}

extension BoundExpression {
    /// Whether the value is a single text, not a list, as far as can be seen here.
    fileprivate var givesText: Bool {
        switch self {
        case .attribute(_, _, .string, _), .literal(.string): return true
        case .coalesce(let first, let second): return first.givesText && second.givesText
        case .conditional(_, let first, let second): return first.givesText && second.givesText
        default: return false
        }
    }
}

extension String {
    /// The first text in byte order after all that begin with this one; nil if there is none.
    ///
    /// UTF-8 bytes sort in the order of the scalars.
    var endOfPrefix: String? {
        var scalars = Array(unicodeScalars)
        while let last = scalars.popLast() {
            // The surrogates, which follow U+D7FF, are not scalars.
            let next = last.value == 0xD7FF ? 0xE000 : last.value + 1
            guard let scalar = Unicode.Scalar(next) else { continue }
            var result = String.UnicodeScalarView()
            result.append(contentsOf: scalars)
            result.append(scalar)
            return String(result)
        }
        return nil
    }
}

extension SQLiteExpression {
    /// Whether any of the related records meets a condition.
    mutating func some(_ collection: BoundCollection, _ inner: BoundExpression, _ use: Use) -> Condition? {
        if let joined = attempt({ $0.ownersJoin(collection, inner, use) }) { return joined }
        return members(collection, inner, use.forWhere, isNegated: false)
            .map { Condition(sql: "EXISTS (SELECT 1 \($0.sql))", isExact: $0.isExact) }
    }

    /// Whether all related records meet a condition: whether none fails it.
    mutating func every(_ collection: BoundCollection, _ inner: BoundExpression, _ use: Use) -> Condition? {
        let use = Use(allowsSuperset: use.allowsSuperset, nullIsFalse: false)
        return members(collection, inner, use, isNegated: true)
            .map { Condition(sql: "NOT EXISTS (SELECT 1 \($0.sql))", isExact: $0.isExact) }
    }

    /// `FROM` and `WHERE` of the related records that meet a condition, or that fail it.
    ///
    /// The join with the records drops links to missing ones.
    mutating func members(
        _ collection: BoundCollection,
        _ inner: BoundExpression,
        _ use: Use,
        isNegated: Bool
    ) -> Condition? {
        guard let owner = nested(collection.path.hops.isEmpty ? 0 : 9, { $0.column(collection.path, 0) }) else {
            return nil
        }
        let member = Record(table: tables[collection.destination], alias: newAlias())
        let table = "\(member.table.name) AS \(member.alias)"
        let visit = visit(.related, member.alias)
        var source: String
        switch collection.storage {
        case .referring(let attribute):
            source = "FROM \(table) WHERE \(visit)\(member.alias).\(member.table.columns[attribute]) = \(owner)"
        case .linked(let attribute):
            guard let links = linkTable(collection.path, attribute) else { return nil }
            let link = newAlias()
            source =
                "FROM \(links.name) AS \(link) JOIN \(table) ON \(member.alias).\"id\" = \(link).target "
                + "WHERE \(visit)\(link).owner = \(owner)"
        case .linking(let attribute):
            guard let links = member.table.links[attribute] else { return nil }
            let link = newAlias()
            source =
                "FROM \(links.name) AS \(link) JOIN \(table) ON \(member.alias).\"id\" = \(link).owner "
                + "WHERE \(visit)\(link).target = \(owner)"
        }
        if inner.isAlwaysTrue, !isNegated { return Condition(sql: source, isExact: true) }
        correlation += 1
        defer { correlation -= 1 }
        let condition = bound(collection.variable, to: member) { writer in
            writer.attempt { $0.condition(inner, use) }
        }
        if let condition {
            source += isNegated ? " AND NOT (\(condition.sql))" : " AND \(condition.sql)"
            return Condition(sql: source, isExact: condition.isExact)
        }
        // A record can only meet the condition if it exists; that superset is what is left.
        guard use.allowsSuperset, !isNegated else { return nil }
        return Condition(sql: source, isExact: false)
    }
}
