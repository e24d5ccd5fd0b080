import Crypto
import Foundation
import HabitStore

/// A Core Data file as one more store to compare with: what a store that was made from it has to hold, read by code that the
/// import does not use.
///
/// It goes column by column where the import goes row by row, has SQLite itself convert values where the import does, follows
/// references and links by joins, and gives out identifiers on its own. What both share is the plan: which attribute comes
/// from which column. The result is in memory, and nothing about it can be written to the file.
public struct CoreDataWitness {
    private let file: CoreDataFile
    private let plan: CoreDataPlan
    private var identifiers: [String: [Int64: UUID]] = [:]

    /// The store that a target of ``CoreDataImporter`` has to be equal to.
    ///
    /// - Throws: ``HabitStoreError/Code/notAuthoritative`` when the target was not made from this file.
    public static func store(of file: CoreDataFile, for target: any ReplicableStore) throws -> InMemoryHabitStore {
        guard let position = try CoreDataTarget.position(in: target, of: file) else {
            throw HabitStoreError(
                .notAuthoritative,
                "the store was not made from this Core Data file; give the mapping by which it was",
                at: .init(path: file.path)
            )
        }
        let plan = try DerivedSchema(file, identities: position.identities).plan()
        let differences = StoredSchema(target.schema).differences(from: StoredSchema(plan.schema))
        guard differences.isEmpty else {
            throw HabitStoreError(
                .schemaMismatch,
                "the app has changed its model since: \(differences.map { "\($0)" }.joined(separator: "; "))",
                at: .init(path: file.path)
            )
        }
        return try CoreDataWitness(file, plan).store(schema: target.schema)
    }

    /// The store that a target of ``MappedImporter`` has to be equal to, but for what was refused, or is its own.
    public static func store(
        of file: CoreDataFile,
        _ mapping: CoreDataMapping,
        schema: Schema = HabitSchema.current
    ) throws -> InMemoryHabitStore {
        try CoreDataWitness(file, MappedPlan(mapping, file, schema).plan()).store(schema: schema)
    }

    private init(_ file: CoreDataFile, _ plan: CoreDataPlan) throws {
        self.file = file
        self.plan = plan
        for root in Set(plan.entities.map(\.source.root)) { identifiers[root] = try identifiers(of: root) }
    }

    private func store(schema: Schema) throws -> InMemoryHabitStore {
        let store = try InMemoryHabitStore(schema: schema)
        for entity in plan.entities {
            let records = try records(of: entity, schema.entities[entity.target])
            try store.replicate { transaction in
                for (id, record) in records { try transaction.put(entity: entity.target, id: id, record) }
            }
        }
        if let source = plan.source {
            let position = SourcePosition(file, identities: plan.identities)
            try store.replicate {
                try $0.put(entity: source, id: position.id, try position.record(schema.entities[source].layout))
            }
        }
        return store
    }

    private func records(
        of entity: CoreDataPlan.Entity,
        _ target: EntityDescription
    ) throws -> [(UUID, EncodedRecord)] {
        let columns = WitnessColumns(file, entity.source)
        let keys = try columns.keys()
        var values: [[Int64: Value]] = []
        for (attribute, field) in zip(target.attributes, entity.fields) {
            values.append(try read(field, attribute, keys, columns, entity))
        }
        return try keys.compactMap { key in
            guard let id = identifiers[entity.source.root]?[key] else { return nil }
            let row = zip(target.attributes, values).map { attribute, column in
                column[key] ?? (attribute.kind == .links ? .links([]) : .null)
            }
            for (attribute, value) in zip(target.attributes, row) where value.isNull && !attribute.isOptional {
                return nil
            }
            return (id, try EncodedRecord(row, layout: target.layout))
        }
    }

    // MARK: Identifiers

    /// The identifiers of all records of a root entity: of several with one UUID, the first by its key keeps it.
    private func identifiers(of root: String) throws -> [Int64: UUID] {
        guard let entity = file.model.entity(root) else { return [:] }
        var result: [Int64: UUID] = [:]
        var taken: Set<UUID> = []
        let column = plan.identities[root].flatMap { entity.attribute($0)?.column }
        let own = column.map { "CASE typeof(\"\($0)\") WHEN 'blob' THEN hex(\"\($0)\") ELSE \"\($0)\" END" } ?? "NULL"
        let rows = try file.connection.prepare("SELECT Z_PK, \(own) FROM \"\(entity.table)\" ORDER BY Z_PK")
        while try rows.step() {
            let key = rows.optionalInt(0) ?? 0
            if let id = rows.text(1).flatMap(Self.identifier), taken.insert(id).inserted {
                result[key] = id
            } else {
                result[key] = derived(root, key)
            }
        }
        return result
    }

    /// 32 hexadecimal digits in capitals, or the same with dashes where UUIDs have them.
    private static func identifier(_ text: String) -> UUID? {
        var digits = text
        if digits.utf8.count == 36 {
            guard digits == digits.uppercased() else { return nil }
        } else {
            guard digits.utf8.count == 32 else { return nil }
            for place in [20, 16, 12, 8] { digits.insert("-", at: digits.index(digits.startIndex, offsetBy: place)) }
        }
        return UUID(uuidString: digits)
    }

    private func derived(_ root: String, _ key: Int64) -> UUID {
        let text = "habitstore coredata\0\(file.metadata.storeID.uppercased())\0\(root)\0\(key)\0"
        var digits = SHA256.hash(data: Data(text.utf8)).prefix(16).map { $0 }
        digits[6] = 0x80 | (digits[6] & 0b1111)
        digits[8] = 0x80 | (digits[8] & 0b11_1111)
        return NSUUID(uuidBytes: digits) as UUID
    }

    private func identifier(_ root: String, _ key: Int64) -> UUID { identifiers[root]?[key] ?? derived(root, key) }

    // MARK: Fields

    private func read(
        _ field: CoreDataPlan.Field,
        _ attribute: AttributeDescription,
        _ keys: [Int64],
        _ columns: WitnessColumns,
        _ entity: CoreDataPlan.Entity
    ) throws -> [Int64: Value] {
        let source = entity.source
        func all(_ value: (Int64) -> Value) -> [Int64: Value] {
            Dictionary(keys.map { ($0, value($0)) }, uniquingKeysWith: { first, _ in first })
        }
        switch field {
        case .missing: return [:]
        case .constant(let value): return all { _ in value }
        case .identity: return all { .uuid(identifier(source.root, $0)) }
        case .key: return all { .int($0) }
        case .entityName: return all { _ in .string(source.name) }
        case .attribute(let name), .texts(let name):
            guard let described = source.attribute(name), let column = described.column else { return [:] }
            return try columns.values(column, described.type, as: attribute.kind)
        case .number(let column): return try columns.values(column, .integer64, as: .int)
        case .referenceKey(let name):
            guard let column = Self.column(source.relationship(name)) else { return [:] }
            return try columns.values(column, .integer64, as: .int)
        case .reference(let name):
            guard let relationship = source.relationship(name), let column = Self.column(relationship),
                let root = file.model.entity(relationship.destination)?.root
            else { return [:] }
            return try references(column, root, attribute.kind, columns)
        case .owner(let column, let root): return try references(column, root, attribute.kind, columns)
        case .links(let name):
            return try links(name, source, columns).mapValues { ids in
                .links(Set(ids).sorted { $0.uuidString < $1.uuidString })
            }
        case .linkOrder(let name):
            return try links(name, source, columns).mapValues { .strings($0.map(\.uuidString)) }
        }
    }

    private static func column(_ relationship: CoreDataRelationship?) -> String? {
        guard case .column(let column, _)? = relationship?.storage else { return nil }
        return column
    }

    private func references(
        _ column: String,
        _ root: String,
        _ kind: AttributeKind,
        _ columns: WitnessColumns
    ) throws -> [Int64: Value] {
        try columns.values(column, .integer64, as: .int).compactMapValues { value in
            guard case .int(let key) = value else { return nil }
            let id = identifier(root, key)
            return kind == .links ? .links([id]) : .uuid(id)
        }
    }

    private func links(_ name: String, _ source: CoreDataEntity, _ columns: WitnessColumns) throws -> [Int64: [UUID]] {
        guard let relationship = source.relationship(name),
            let root = file.model.entity(relationship.destination)?.root
        else { return [:] }
        return try columns.links(relationship).mapValues { $0.map { identifier(root, $0) } }
    }
}
