import Foundation
import HabitStore

/// A complete read-only report on a Core Data file: its model, counts, history and oddities.
public struct CoreDataInspection: Sendable, Encodable {
    /// An entity and its number of records.
    public struct Entity: Sendable, Encodable {
        /// The entity.
        public let entity: CoreDataEntity
        /// The number of its records, without those of entities that inherit from it.
        public let count: Int

        /// Encodes the entity's keys, and the count along with them.
        public func encode(to encoder: any Encoder) throws {
            try entity.encode(to: encoder)
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(count, forKey: .count)
        }

        private enum CodingKeys: String, CodingKey { case count }
    }

    /// The path of the file.
    public let path: String
    /// The kind of file, for programs: `coreData`.
    public let kind = "coreData"
    /// The file's metadata table.
    public let metadata: CoreDataMetadata
    /// Where the model was found.
    public let modelOrigin: CoreDataModel.Origin
    /// The entities in the order of their numbers.
    public let entities: [Entity]
    /// The history; nil if the file has none.
    public let history: CoreDataHistory?
    /// Missing, guessed, dangling or unusual things.
    public let oddities: [CoreDataOddity]

    /// Inspects every value of a file.
    ///
    /// - Parameter progress: called regularly with the number of records inspected and their total; throwing ends the inspection.
    public init(_ file: CoreDataFile, progress: (Int, Int) throws -> Void = { _, _ in }) throws {
        path = file.path
        metadata = file.metadata
        modelOrigin = file.model.origin
        history = file.history
        entities = try file.model.entities.map { Entity(entity: $0, count: try file.count(of: $0)) }
        var check = CoreDataCheck(file)
        try check.run(total: entities.reduce(0) { $0 + $1.count }, progress)
        oddities = file.oddities + check.oddities
    }
}

/// Finds defects in the records of a Core Data file that the file's own constraints do not prevent.
struct CoreDataCheck {
    private let file: CoreDataFile
    private(set) var oddities: [CoreDataOddity] = []

    init(_ file: CoreDataFile) { self.file = file }

    mutating func run(total: Int, _ progress: (Int, Int) throws -> Void) throws {
        var tables: Set<String> = []
        for entity in file.model.entities where tables.insert(entity.table).inserted { try checkNumbers(entity) }
        var done = 0
        for entity in file.model.entities {
            try checkValues(entity, &done, total, progress)
            for relationship in entity.relationships where relationship.declaredIn == entity.name {
                try checkReferences(entity, relationship)
            }
            for group in entity.uniqueness { try checkUniqueness(entity, group) }
        }
    }

    private mutating func note(
        _ kind: String,
        _ count: Int64?,
        _ entity: CoreDataEntity,
        _ property: String? = nil,
        _ message: (Int) -> String
    ) {
        guard let count, count > 0 else { return }
        oddities.note(kind, message(Int(count)), entity: entity.name, property: property, count: Int(count))
    }

    /// Counts records whose entity is not one of those that share the table.
    private mutating func checkNumbers(_ entity: CoreDataEntity) throws {
        let family = file.model.entities.filter { $0.table == entity.table }
        let numbers = family.map { String($0.number) }.joined(separator: ", ")
        let count = try file.connection.int(
            "SELECT count(*) FROM \(SourceConnection.quoted(entity.table)) WHERE Z_ENT IS NULL OR Z_ENT NOT IN (\(numbers))"
        )
        note("recordOfNoEntity", count, entity) { "\($0) rows of \(entity.table) belong to no entity of the file" }
        for member in family where member.isAbstract {
            note("recordOfAbstract", Int64(try file.count(of: member)), member) {
                "\(member.name) is abstract but has \($0) records"
            }
        }
    }

    private mutating func checkValues(
        _ entity: CoreDataEntity,
        _ done: inout Int,
        _ total: Int,
        _ progress: (Int, Int) throws -> Void
    ) throws {
        var missing = [Int](repeating: 0, count: entity.attributes.count)
        var problems = [[String: Int]](repeating: [:], count: entity.attributes.count)
        try file.enumerate(entity) { row in
            for (place, value) in row.values.enumerated() {
                if let problem = value.problem { problems[place][problem, default: 0] += 1 }
                if value.value.isNull, value.stored == nil { missing[place] += 1 }
            }
            done += 1
            if done % 4_096 == 0 { try progress(done, total) }
            return true
        }
        try progress(done, total)
        for (place, attribute) in entity.attributes.enumerated() {
            for (problem, count) in problems[place].sorted(by: { $0.key < $1.key }) {
                note("valueOdd", Int64(count), entity, attribute.name) {
                    "\($0) values of \(entity.name).\(attribute.name) are odd: \(problem)"
                }
            }
            guard !attribute.isOptional, attribute.column != nil else { continue }
            note("valueMissing", Int64(missing[place]), entity, attribute.name) {
                "\($0) records have no \(entity.name).\(attribute.name), which is not optional"
            }
        }
    }

    private mutating func checkReferences(_ entity: CoreDataEntity, _ relationship: CoreDataRelationship) throws {
        guard let destination = file.model.entity(relationship.destination) else { return }
        let keys = "SELECT Z_PK FROM \(SourceConnection.quoted(destination.table))"
        let name = "\(entity.name).\(relationship.name)"
        switch relationship.storage {
        case .column(let column, _):
            let value = SourceConnection.quoted(column)
            let from =
                "FROM \(SourceConnection.quoted(entity.table)) WHERE \(value) NOT NULL AND Z_ENT IN "
                + "(\(file.model.family(of: entity.name).map { String($0.number) }.joined(separator: ", ")))"
            let dangling = try file.connection.int("SELECT count(*) \(from) AND \(value) NOT IN (\(keys))")
            note("danglingReference", dangling, entity, relationship.name) {
                "\($0) references \(name) lead to records that do not exist"
            }
            let numbers = file.model.family(of: destination.name).map { String($0.number) }.joined(separator: ", ")
            let foreign = try file.connection.int(
                "SELECT count(*) \(from) AND \(value) IN (\(keys) WHERE Z_ENT NOT IN (\(numbers)))"
            )
            note("foreignReference", foreign, entity, relationship.name) {
                "\($0) references \(name) lead to records that are not of \(destination.name)"
            }
        case .table(let table, let here, let there):
            let (table, left, right) = (
                SourceConnection.quoted(table), SourceConnection.quoted(here), SourceConnection.quoted(there)
            )
            let own = "SELECT Z_PK FROM \(SourceConnection.quoted(entity.table))"
            let dangling = try file.connection.int(
                "SELECT count(*) FROM \(table) WHERE \(right) NOT IN (\(keys)) OR \(left) NOT IN (\(own))"
            )
            note("danglingLink", dangling, entity, relationship.name) {
                "\($0) links of \(name) have a record missing at one end"
            }
        case .otherSide, .missing: break
        }
    }

    private mutating func checkUniqueness(_ entity: CoreDataEntity, _ group: [String]) throws {
        let columns = group.compactMap { name -> String? in
            if let column = entity.attribute(name)?.column { return column }
            if case .column(let column, _)? = entity.relationship(name)?.storage { return column }
            return nil
        }.map(SourceConnection.quoted)
        guard columns.count == group.count, !columns.isEmpty else { return }
        let numbers = file.model.family(of: entity.name).map { String($0.number) }.joined(separator: ", ")
        let filled = columns.map { "\($0) NOT NULL" }.joined(separator: " AND ")
        let count = try file.connection.int(
            "SELECT count(*) FROM (SELECT 1 FROM \(SourceConnection.quoted(entity.table)) WHERE \(filled) AND "
                + "Z_ENT IN (\(numbers)) GROUP BY \(columns.joined(separator: ", ")) HAVING count(*) > 1)"
        )
        note("duplicateUnique", count, entity, group.joined(separator: ", ")) {
            "\($0) values of \(entity.name).\(group.joined(separator: ", ")) occur more than once, and should be unique"
        }
    }
}

/// The kind of a file, from its header alone.
public enum SourceKind: Sendable, Hashable {
    /// A SQLite store of this package.
    case habitStore
    /// Another SQLite database.
    case database
    /// Another kind of file, or none.
    case other

    /// `HbSt`, the mark of this package's stores in the header.
    private static let storeMark: [UInt8] = [0x48, 0x62, 0x53, 0x74]

    /// Reads a file's header. An unreadable file is ``other``; opening it reports the reason.
    public init(path: String) {
        self = .other
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return }
        let head = DatabaseHeader.head(of: path, 100)
        guard head.starts(with: DatabaseHeader.magic) else { return }
        self = head.count >= 72 && head[68..<72].elementsEqual(Self.storeMark) ? .habitStore : .database
    }
}
