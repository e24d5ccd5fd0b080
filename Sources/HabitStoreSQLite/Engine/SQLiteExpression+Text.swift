import Foundation
@_spi(Engines) import HabitStore

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
