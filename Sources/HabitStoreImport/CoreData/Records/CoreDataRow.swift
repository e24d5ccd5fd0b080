import Foundation
import HabitStore

/// A record of a Core Data file.
public struct CoreDataRow: Sendable {
    /// The key within its table (`Z_PK`). It is only valid in this file: migrations by the app assign new ones.
    public let key: Int64
    /// The number of times the record was saved (`Z_OPT`), which is not the app's data.
    public let saves: Int64?
    /// The values, in the order of the entity's attributes.
    public let values: [CoreDataValue]
    /// The targets of the to-one relationships, by name.
    public let references: [String: CoreDataReference]
    /// The numbers in additional columns that were requested.
    var numbers: [String: Int64] = [:]
    /// Values in columns of keys or numbers that are not integers.
    var misplaced: [Misplaced] = []

    /// A value that is not an integer, in a column that should only have integers.
    struct Misplaced: Sendable {
        /// The relationship, or the column if there is none.
        let property: String
        let column: String
        let value: SourceValue
    }
}

extension CoreDataFile {
    /// The number of an entity's records, without those of entities that inherit from it.
    public func count(of entity: CoreDataEntity) throws -> Int {
        let table = SourceConnection.quoted(entity.table)
        let hasKey = tables.hasKey(in: entity.table).map { " AND \($0)" } ?? ""
        return Int(try connection.int("SELECT count(*) FROM \(table) WHERE Z_ENT = \(entity.number)\(hasKey)") ?? 0)
    }

    /// Calls `body` with the entity's records after `key`, in the order of their keys, until it returns false. Subentities are not
    /// included.
    public func enumerate(
        _ entity: CoreDataEntity,
        after key: Int64 = .min,
        _ body: (CoreDataRow) throws -> Bool
    ) throws {
        try enumerate(entity, CoreDataRowReader(entity, in: self), after: key, body)
    }

    /// Calls `body` with the entity's records, as far as `reader` reads them.
    func enumerate(
        _ entity: CoreDataEntity,
        _ reader: CoreDataRowReader,
        after key: Int64 = .min,
        _ body: (CoreDataRow) throws -> Bool
    ) throws {
        let statement = try connection.prepare(reader.sql + " AND Z_PK > ?1 ORDER BY Z_PK", .int(key))
        while try statement.step() {
            guard try body(reader.row(statement)) else { return }
        }
    }

    /// The record with a key; nil if the entity has none.
    public func row(_ entity: CoreDataEntity, key: Int64) throws -> CoreDataRow? {
        try row(entity, CoreDataRowReader(entity, in: self), key: key)
    }

    /// The record with a key, as far as `reader` reads it.
    func row(_ entity: CoreDataEntity, _ reader: CoreDataRowReader, key: Int64) throws -> CoreDataRow? {
        let statement = try connection.prepare(reader.sql + " AND Z_PK = ?1", .int(key))
        return try statement.step() ? reader.row(statement) : nil
    }

    /// The entity number of the record with a key; nil if there is no record.
    func entityNumber(of key: Int64, in table: String) throws -> Int? {
        let statement = try connection.prepare(
            "SELECT Z_ENT FROM \(SourceConnection.quoted(table)) WHERE Z_PK = ?1",
            .int(key)
        )
        return try statement.step() ? statement.optionalInt(0).map { Int($0) } : nil
    }

    /// Calls `body` with the links of a to-many relationship: the key on this side, the key on the other, and the position if there is an
    /// order. Sorted by the key on this side, then by position.
    public func enumerateLinks(
        _ relationship: CoreDataRelationship,
        of entity: CoreDataEntity,
        _ body: (_ here: Int64, _ there: Int64, _ order: Int64?) throws -> Void
    ) throws {
        guard let sql = linkQuery(relationship) else { return }
        let statement = try connection.prepare(sql)
        while try statement.step() {
            guard let here = statement.integer(0), let there = statement.integer(1) else { continue }
            try body(here, there, statement.integer(2))
        }
    }

    private func linkQuery(_ relationship: CoreDataRelationship) -> String? {
        let order = relationship.orderColumn.map(SourceConnection.quoted) ?? "NULL"
        switch relationship.storage {
        case .table(let table, let here, let there):
            let (left, right) = (SourceConnection.quoted(here), SourceConnection.quoted(there))
            let from = "FROM \(SourceConnection.quoted(table)) WHERE \(left) NOT NULL AND \(right) NOT NULL"
            let forth = "SELECT \(left) AS here, \(right) AS there, \(order) AS place \(from)"
            // A relationship that is its own inverse leads both ways, whichever direction is stored.
            guard here == "REFLEXIVE" else { return forth + " ORDER BY 1, 3, 2" }
            return forth + " UNION SELECT \(right), \(left), NULL \(from) ORDER BY 1, 3, 2"
        case .otherSide(let column):
            guard let destination = model.entity(relationship.destination) else { return nil }
            let numbers = model.family(of: destination.name).map { String($0.number) }.joined(separator: ", ")
            let name = SourceConnection.quoted(column)
            return "SELECT \(name), Z_PK, \(order) FROM \(SourceConnection.quoted(destination.table)) "
                + "WHERE \(name) NOT NULL AND Z_ENT IN (\(numbers)) ORDER BY 1, 3, 2"
        case .column, .missing: return nil
        }
    }
}

/// Reads the rows of one entity.
struct CoreDataRowReader {
    private let entity: CoreDataEntity
    private let places: [Int?]
    private let references: [(name: String, place: Int, entityPlace: Int?)]
    private let further: [(name: String, place: Int)]
    /// The columns of keys and numbers, and their indices.
    private let whole: [(property: String, column: String, place: Int)]
    private let external: ExternalData
    /// The query for the entity's rows, to which callers can append conditions.
    let sql: String

    /// - Parameter columns: additional columns to read numbers from.
    init(_ entity: CoreDataEntity, in file: CoreDataFile, columns furtherColumns: [String] = []) {
        self.entity = entity
        external = file.external
        var columns = ["Z_PK", "Z_OPT"]
        func place(_ column: String) -> Int {
            columns.append(SourceConnection.quoted(column))
            return columns.count - 1
        }
        places = entity.attributes.map { $0.column.map(place) }
        var whole: [(String, String, Int)] = []
        references = entity.relationships.compactMap { relationship in
            guard case .column(let column, let second) = relationship.storage else { return nil }
            let places = (place(column), second.map(place))
            whole.append((relationship.name, column, places.0))
            if let second, let place = places.1 { whole.append((relationship.name, second, place)) }
            return (relationship.name, places.0, places.1)
        }
        further = furtherColumns.map { ($0, place($0)) }
        let read = Set(whole.map(\.1))
        self.whole = whole + further.filter { !read.contains($0.name) }.map { ($0.name, $0.name, $0.place) }
        let table = SourceConnection.quoted(entity.table)
        let hasKey = file.tables.hasKey(in: entity.table).map { " AND \($0)" } ?? ""
        sql = "SELECT \(columns.joined(separator: ", ")) FROM \(table) WHERE Z_ENT = \(entity.number)\(hasKey)"
    }

    func row(_ statement: SourceStatement) -> CoreDataRow {
        var found: [String: CoreDataReference] = [:]
        for (name, place, entityPlace) in references {
            guard let key = statement.integer(place) else { continue }
            let number = entityPlace.flatMap { statement.integer($0) }.map { Int(clamping: $0) }
            found[name] = CoreDataReference(key: key, entityNumber: number)
        }
        var numbers: [String: Int64] = [:]
        for (name, place) in further { numbers[name] = statement.integer(place) }
        let misplaced = whole.compactMap { property, column, place -> CoreDataRow.Misplaced? in
            guard statement.integer(place) == nil else { return nil }
            let value = statement.value(place)
            return value.isNull ? nil : CoreDataRow.Misplaced(property: property, column: column, value: value)
        }
        return CoreDataRow(
            key: statement.optionalInt(0) ?? 0,
            saves: statement.optionalInt(1),
            values: zip(entity.attributes, places).map { attribute, place in
                guard let place else { return CoreDataValue(.null) }
                return ValueDecoder.decode(statement.value(place), as: attribute, external)
            },
            references: found,
            numbers: numbers,
            misplaced: misplaced
        )
    }
}

/// A value of a Core Data file.
public struct CoreDataValue: Sendable, Hashable {
    /// The value as a store can hold it; null if it cannot.
    public let value: Value
    /// The defect of the value, in words without the value itself; nil if there is none.
    public let problem: String?
    /// The stored value, if it cannot be held exactly; an import adds it to the attachment.
    let stored: SourceValue?
    /// The kind of loss that an import counts.
    let loss: ImportLoss.Kind

    /// A value without defects.
    init(_ value: Value) {
        self.value = value
        problem = nil
        stored = nil
        loss = .otherType
    }

    /// A value with a defect that can be held nevertheless.
    init(_ value: Value, but problem: String) {
        self.value = value
        self.problem = problem
        stored = nil
        loss = .otherType
    }

    /// A value that cannot be held as its attribute's type, or only in an altered form.
    init(lost stored: SourceValue, _ problem: String, as loss: ImportLoss.Kind = .otherType, kept value: Value = .null)
    {
        self.value = value
        self.problem = problem
        self.stored = stored
        self.loss = loss
    }
}

/// The target of a to-one relationship.
public struct CoreDataReference: Sendable, Hashable {
    /// The key of the target in its table.
    public let key: Int64
    /// The number of the target's entity, if the file stores it.
    public let entityNumber: Int?
}

/// Reads the links of single records, for a relationship with a link table.
final class LinkReader {
    private let statement: SourceStatement

    /// Nil if the relationship is stored elsewhere.
    init?(_ relationship: CoreDataRelationship, _ file: CoreDataFile) throws {
        guard case .table(let table, let here, let there) = relationship.storage else { return nil }
        let (left, right) = (SourceConnection.quoted(here), SourceConnection.quoted(there))
        let name = SourceConnection.quoted(table)
        let order = relationship.orderColumn.map(SourceConnection.quoted) ?? "NULL"
        var sql = "SELECT \(right), \(order) FROM \(name) WHERE \(left) = ?1 AND typeof(\(right)) = 'integer'"
        // A relationship that is its own inverse leads both ways, whichever direction is stored.
        if here == "REFLEXIVE" {
            sql += " UNION SELECT \(left), NULL FROM \(name) WHERE \(right) = ?1 AND typeof(\(left)) = 'integer'"
        }
        statement = try file.connection.prepare(sql + " ORDER BY 2, 1")
    }

    /// The keys that a record is linked to, in order if there is one.
    func keys(of key: Int64) throws -> [Int64] {
        try statement.bind([.int(key)])
        var result: [Int64] = []
        while try statement.step() {
            if let target = statement.integer(0) { result.append(target) }
        }
        return result
    }
}
