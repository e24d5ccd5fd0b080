import Foundation
@_spi(Engines) import HabitStore
import HabitStoreImport
import HabitStoreSQLite

/// How a query goes through a mapped table: conditions on the app's columns that every match fulfils, and the whole filter for what they leave.
@_spi(Engines) public struct MappedPlan: EnginePlan {
    let entity: Int
    /// Reads the identifiers and rows of the candidates.
    let sql: String
    /// The values of its parameters.
    let bindings: [SourceValue]
    /// What candidates must still be tested with: everything, because the conditions in SQL may be wider.
    public let residual: BoundExpression?
    /// Whether candidates come by identifier.
    public let orderIsExact: Bool
    /// Nothing is cut here.
    public var windowIsApplied: Bool { false }
    /// `search Account(title)`, or `scan Account`.
    public let accessPath: String
    /// Whether every row of the table is a candidate.
    let isScan: Bool
}

/// Finds the conditions of a filter that can be put to SQLite.
struct MappedPlanner {
    private let rows: MappedRows
    private let query: BoundQuery
    private let table: MappedTable
    private let part: TablePlan.Part
    /// Whether all texts of the table are in NFC, so that equal texts have equal bytes.
    private let textIsCanonical: Bool
    private var conditions: [String] = []
    private var bindings: [SourceValue] = []
    private var attributes: [String] = []

    init(_ rows: MappedRows, _ query: BoundQuery, textIsCanonical: Bool) {
        (self.rows, self.query, self.textIsCanonical) = (rows, query, textIsCanonical)
        let place = rows.layout.entities[query.entity]
        (table, part) = (rows.layout.tables[place.table], place.part)
    }

    /// The plan.
    mutating func plan() throws -> MappedPlan {
        for condition in query.filter.narrowingConditions { try narrow(condition) }
        let isOrdered = query.order.first?.position == 0
        var sql = table.select
        if !conditions.isEmpty { sql += " WHERE " + conditions.joined(separator: " AND ") }
        if isOrdered { sql += " ORDER BY k.id" + (query.order.first?.ascending == false ? " DESC" : "") }
        let name = rows.layout.schema.entities[query.entity].name
        return MappedPlan(
            entity: query.entity,
            sql: sql,
            bindings: bindings,
            residual: query.filter.isAlwaysTrue ? nil : query.filter,
            orderIsExact: isOrdered,
            accessPath: conditions.isEmpty ? "scan \(name)" : "search \(name)(\(attributes.joined(separator: ", ")))",
            isScan: conditions.isEmpty
        )
    }

    /// The plan for the records with a value of an attribute; other records may come too.
    mutating func plan(attribute: Int, equalTo value: Value) throws -> MappedPlan {
        if let (sql, values) = try term(attribute, .equal, value) { add(sql, values, attribute) }
        return try plan()
    }

    private mutating func narrow(_ condition: BoundExpression) throws {
        if let (position, comparison, value) = condition.rootComparison {
            if let (sql, values) = try term(position, comparison, value) { add(sql, values, position) }
        } else if case .isIn(.attribute(let path, let position, _, _), let values) = condition, path.isRoot,
            values.count <= Self.mostValues
        {
            var terms: [(String, [SourceValue])] = []
            for value in values {
                guard let term = try term(position, .equal, value) else { return }
                terms.append(term)
            }
            guard !terms.isEmpty else { return }
            add("(\(terms.map(\.0).joined(separator: " OR ")))", terms.flatMap(\.1), position)
        }
    }

    private static let mostValues = 100

    /// Adds a condition, in which `?` stands for each of the values.
    private mutating func add(_ sql: String, _ values: [SourceValue], _ position: Int) {
        conditions.append(sql)
        bindings += values
        attributes.append(rows.layout.schema.entities[query.entity].attributes[position].name)
    }

    /// A condition that all records fulfil whose attribute compares like this; nil if there is none. Other records may fulfil it too.
    private func term(
        _ position: Int,
        _ comparison: FilterExpression.Comparison,
        _ value: Value
    ) throws -> (String, [SourceValue])? {
        guard comparison != .notEqual, !value.isNull else { return nil }
        let sign = comparison.sign
        switch (part.fields[position], value) {
        case (.identifier, .uuid(let id)): return ("k.id \(sign) ?", [.blob(withUnsafeBytes(of: id.uuid) { Data($0) })])
        case (.column(let place, let form, _), _):
            return column(place, form, comparison, value)
        case (.cases(let place, let cases, _), _) where comparison == .equal:
            let codes = cases.filter { $0.value == value }.keys
            guard !codes.isEmpty else { return nil }
            var values: [SourceValue] = []
            for code in codes {
                values.append(.text(code))
                if let number = Int64(code) { values.append(.int(number)) }
            }
            let name = quoted(place)
            // The app's collation might find more texts equal, and never fewer.
            return ("(\(values.map { _ in "\(name) = ?" }.joined(separator: " OR ")))", values)
        case (.reference(let places, let destination), .uuid(let id)) where comparison == .equal:
            guard let other = rows.layout.table(destination) else { return nil }
            let target = rows.layout.tables[other]
            // A text may be spelled in several ways, and a reference without a record may not be known by its key.
            guard target.hasNumberedKey, places.allSatisfy({ table.affinity($0) == .integer }),
                let key = try rows.key(id, target)
            else { return nil }
            return (places.map { "\(quoted($0)) = ?" }.joined(separator: " AND "), key)
        default: return nil
        }
    }

    private func column(
        _ place: Int,
        _ form: StoredForm,
        _ comparison: FilterExpression.Comparison,
        _ value: Value
    ) -> (String, [SourceValue])? {
        let (name, sign) = (quoted(place), comparison.sign)
        switch (form, value) {
        case (.integer, .int(let number)): return ("\(name) \(sign) ?", [.int(number)])
        case (.real, .double(let number)): return ("\(name) \(sign) ?", [.real(number)])
        case (.boolean, .bool(let flag)) where comparison == .equal: return ("\(name) = ?", [.int(flag ? 1 : 0)])
        case (.text, .string(let text)):
            // A column of numbers would compare the literal as a number.
            guard textIsCanonical, [.text, .none].contains(table.affinity(place)),
                comparison == .equal || rows.layout.comparesBytes
            else { return nil }
            return ("\(name) \(sign) ? COLLATE BINARY", [.text(text)])
        case (.count(let unit, let year), .date(let date)):
            return count(name, unit, year, comparison, date)
        case (.date(let pattern), .date(let date)):
            guard pattern.beginsWithDay, table.affinity(place) == .text else { return nil }
            return day(name, pattern, comparison, date)
        default: return nil
        }
    }

    /// Widens the bounds by more than a count can be rounded.
    private func count(
        _ name: String,
        _ unit: StoredForm.Unit,
        _ year: StoredForm.Year,
        _ comparison: FilterExpression.Comparison,
        _ date: Date
    ) -> (String, [SourceValue])? {
        let number: Double
        switch StoredForm.count(unit, since: year).stored(.date(date)) {
        case .int(let whole): number = Double(whole)
        case .real(let real): number = real
        default: return nil
        }
        let slack = abs(number) * 1e-9 + 2
        guard (number + slack).isFinite, (number - slack).isFinite else { return nil }
        return range(name, comparison, .real(number - slack), .real(number + slack))
    }

    /// Compares days, which differ by less than two in any time zone.
    private func day(
        _ name: String,
        _ pattern: DatePattern,
        _ comparison: FilterExpression.Comparison,
        _ date: Date
    ) -> (String, [SourceValue])? {
        let slack = 2 * 86_400.0
        guard let low = pattern.day(date - slack), let high = pattern.day(date + slack) else { return nil }
        return range(name, comparison, .text(low), .text(high))
    }

    private func range(
        _ name: String,
        _ comparison: FilterExpression.Comparison,
        _ low: SourceValue,
        _ high: SourceValue
    ) -> (String, [SourceValue])? {
        let suffix = if case .text = low { " COLLATE BINARY" } else { "" }
        switch comparison {
        case .equal: return ("\(name) >= ?\(suffix) AND \(name) <= ?\(suffix)", [low, high])
        case .less, .lessOrEqual: return ("\(name) <= ?\(suffix)", [high])
        case .greater, .greaterOrEqual: return ("\(name) >= ?\(suffix)", [low])
        case .notEqual: return nil
        }
    }

    private func quoted(_ place: Int) -> String { "t.\(SQLiteFormat.quoted(table.source.columns[place]))" }
}

extension FilterExpression.Comparison {
    fileprivate var sign: String {
        switch self {
        case .equal: "="
        case .notEqual: "<>"
        case .less: "<"
        case .lessOrEqual: "<="
        case .greater: ">"
        case .greaterOrEqual: ">="
        }
    }
}
