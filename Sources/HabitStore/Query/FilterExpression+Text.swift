import Foundation

/// The text form: what `FilterParser` reads. Its grammar is in the article *Query semantics*.
extension FilterExpression: CustomStringConvertible {
    /// The text form.
    public var description: String { FilterPrinter(depth: 0).condition(self) }

    /// Reads the text form.
    ///
    /// - Throws: ``HabitStoreError/Code/invalidQuery`` with the column.
    public init(text: String) throws {
        var parser = try FilterParser(text)
        self = try parser.parse()
    }
}

/// In JSON a filter is a string, its text form, so that a file of queries can be read and written by people.
extension FilterExpression: Codable {
    /// Reads the text form.
    public init(from decoder: any Decoder) throws {
        let text = try decoder.singleValueContainer().decode(String.self)
        do {
            try self.init(text: text)
        } catch {
            throw DecodingError.dataCorrupted(
                .init(codingPath: decoder.codingPath, debugDescription: "\(error)", underlyingError: error)
            )
        }
    }

    /// Writes the text form.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}

/// Writes expressions; `depth` is the number of the innermost variable, whose names need no prefix.
private struct FilterPrinter {
    let depth: Int

    func condition(_ expression: FilterExpression) -> String {
        switch expression {
        case .and(let parts): return joined(parts, by: " AND ", empty: "TRUE")
        case .or(let parts): return joined(parts, by: " OR ", empty: "FALSE")
        case .not(let inner): return "NOT \(operand(inner))"
        case .exists(let path):
            // A path without a hop has no name; its variable says what is meant.
            return "EXISTS " + (path.hops.isEmpty ? "$\(path.variable)" : name(path))
        case .compare(let comparison, let left, let right):
            return "\(operand(left)) \(comparison.rawValue) \(operand(right))"
        case .isIn(let member, let values):
            return "\(operand(member)) IN [\(values.map(\.description).joined(separator: ", "))]"
        case .text(let test, let text, let part): return "\(operand(text)) \(test.rawValue) \(operand(part))"
        case .some(let path, let variable, let inner): return collection("ANY", path, variable, inner)
        case .every(let path, let variable, let inner): return collection("ALL", path, variable, inner)
        case .arithmetic(let operation, let left, let right):
            return "\(operand(left)) \(operation.rawValue) \(operand(right))"
        case .literal, .attribute, .count, .length, .least, .greatest, .caseInsensitiveOrder, .coalesce, .conditional:
            return operand(expression)
        }
    }

    private func operand(_ expression: FilterExpression) -> String {
        switch expression {
        case .literal(let value): return value.description
        case .attribute(let path):
            let record = name(path.record)
            return record.isEmpty ? escaped(path.attribute) : "\(record).\(escaped(path.attribute))"
        case .count(let path, let variable, let inner): return collection("COUNT", path, variable, inner)
        case .length(let inner): return "LENGTH(\(condition(inner)))"
        case .least(let inner): return "MIN(\(condition(inner)))"
        case .greatest(let inner): return "MAX(\(condition(inner)))"
        case .caseInsensitiveOrder(let left, let right):
            return "CASECOMPARE(\(condition(left)), \(condition(right)))"
        case .coalesce(let first, let second): return "COALESCE(\(condition(first)), \(condition(second)))"
        case .conditional(let test, let first, let second):
            return "IF(\(condition(test)), \(condition(first)), \(condition(second)))"
        default: return "(\(condition(expression)))"
        }
    }

    private func joined(_ parts: [FilterExpression], by separator: String, empty: String) -> String {
        guard parts.count != 1 else { return condition(parts[0]) }
        return parts.isEmpty
            ? empty
            : parts.map { part in
                switch part {
                case .and, .or: return "(\(condition(part)))"
                default: return condition(part)
                }
            }.joined(separator: separator)
    }

    private func collection(
        _ word: String,
        _ path: CollectionPath,
        _ variable: Int,
        _ inner: FilterExpression
    ) -> String {
        let record = name(path.record)
        var text = "\(word) " + (record.isEmpty ? "" : record + ".") + escaped(path.relationship)
        if variable != depth &+ 1 { text += " $\(variable)" }
        if inner != .always { text += " { \(FilterPrinter(depth: variable).condition(inner)) }" }
        return text
    }

    private func name(_ path: RecordPath) -> String {
        ((path.variable == depth ? [] : ["$\(path.variable)"]) + path.hops.map(escaped)).joined(separator: ".")
    }

    private func escaped(_ name: String) -> String {
        FilterParser.needsQuotes(name) ? "`\(name)`" : name
    }
}
