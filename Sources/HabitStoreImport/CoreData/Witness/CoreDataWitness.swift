import Foundation
@_spi(Engines) import HabitStore

/// Computes the expected contents of a store made from a Core Data file, using none of the import's code, so that the two can be compared
/// like any two stores.
///
/// It reads column by column where the import reads row by row, lets SQLite convert values, follows references and links by joins, and
/// computes identifiers independently. The two share only the plan, which says which attribute comes from which column. ``CoreDataAccount``
/// finds what the plan itself omits.
public struct CoreDataWitness {
    private let file: CoreDataFile
    private let plan: CoreDataPlan
    private let identifiers: WitnessIdentifiers

    /// The number of rows per batch.
    private static let chunk = 2_000

    /// An in-memory store with the expected contents of a target of ``CoreDataImporter``.
    ///
    /// - Throws: ``HabitStoreError/Code/notAuthoritative`` if the target was not made from this file.
    public static func store(of file: CoreDataFile, for target: any ReplicableStore) throws -> InMemoryHabitStore {
        let store = try InMemoryHabitStore(schema: target.schema)
        try fill(store, with: file, for: target)
        return store
    }

    /// An in-memory store with the expected contents of a target of ``CoreDataImporter`` by a mapping, without the target's own records.
    public static func store(
        of file: CoreDataFile,
        _ mapping: CoreDataMapping,
        for target: any UserStoreBackend,
        notes: String? = nil
    ) throws -> InMemoryHabitStore {
        let store = try InMemoryHabitStore(schema: target.schema)
        try fill(store, with: file, mapping, for: target, notes: notes)
        return store
    }

    /// Fills an empty store that has the target's schema with the expected contents of a target of ``CoreDataImporter``, in batches.
    ///
    /// - Throws: ``HabitStoreError/Code/notAuthoritative`` if the target was not made from this file.
    public static func fill(
        _ store: any ReplicableStore,
        with file: CoreDataFile,
        for target: any ReplicableStore
    ) throws {
        guard let position = try CoreDataTarget.position(in: target, of: file) else {
            throw HabitStoreError(
                .notAuthoritative,
                "the store was not made from this Core Data file; give the mapping by which it was",
                at: .init(path: file.path)
            )
        }
        let plan = try DerivedSchema(file, identities: position.identities).plan(for: target.schema)
        let differences = StoredSchema(target.schema).differences(from: StoredSchema(plan.schema))
        guard differences.isEmpty else {
            throw HabitStoreError(
                .schemaMismatch,
                "the store has another schema than follows from the file: the app has changed its model, or an earlier version "
                    + "of this program read less of it: \(differences.map { "\($0)" }.listed("; "))",
                at: .init(path: file.path)
            )
        }
        // The age of the files says nothing about their contents.
        try CoreDataWitness(file, plan).fill(store, age: position.age)
    }

    /// Fills an empty store with the expected contents of a target of ``CoreDataImporter`` by a mapping, without the target's own records.
    ///
    /// It does not expect records that the target lacks and the attachment has whole, or references to them. ``CoreDataAccount`` checks
    /// whether the attachment has all of their values.
    ///
    /// - Parameter notes: the base path of the attachment; nil for the target's path.
    public static func fill(
        _ store: any ReplicableStore,
        with file: CoreDataFile,
        _ mapping: CoreDataMapping,
        for target: any UserStoreBackend,
        notes: String? = nil
    ) throws {
        let refusals = WitnessRefusals(
            try UnmappedValues(path: (notes ?? target.path ?? "") + ".unmapped.jsonl"),
            target
        )
        try CoreDataWitness(file, MappedPlan(mapping, file, store.schema).plan()).fill(store, without: refusals)
        try refusals.removeDanglingReferences(store)
    }

    private init(_ file: CoreDataFile, _ plan: CoreDataPlan) throws {
        self.file = file
        self.plan = plan
        identifiers = try WitnessIdentifiers(file, plan.identities)
    }

    private func fill(
        _ store: any ReplicableStore,
        age: SourceAge? = nil,
        without refusals: WitnessRefusals? = nil
    ) throws {
        let schema = store.schema
        for entity in plan.entities {
            var next = Int64.min
            while true {
                let ahead = WitnessColumns(file, entity.source, next ... .max)
                let keys = try ahead.keys(limit: Self.chunk)
                guard let first = keys.first, let last = keys.last else { break }
                let columns = WitnessColumns(file, entity.source, first...last)
                let records = try records(of: entity, schema.entities[entity.target], keys, columns, refusals)
                try store.replicate { transaction in
                    for (id, record) in records { try transaction.put(entity: entity.target, id: id, record) }
                }
                guard last < .max else { break }
                next = last + 1
            }
        }
        if let source = plan.source {
            var position = SourcePosition(file, identities: plan.identities)
            position.age = age
            try store.replicate {
                try $0.put(entity: source, id: position.id, try position.record(schema.entities[source].layout))
            }
        }
    }

    private func records(
        of entity: CoreDataPlan.Entity,
        _ target: EntityDescription,
        _ keys: [Int64],
        _ columns: WitnessColumns,
        _ refusals: WitnessRefusals?
    ) throws -> [(UUID, EncodedRecord)] {
        var values: [[Int64: Value]] = []
        for (attribute, field) in zip(target.attributes, entity.fields) {
            values.append(try read(field, attribute, keys, columns, entity))
        }
        return try keys.compactMap { key in
            let id = try identifier(entity.source.root, key)
            if try refusals?.has(entity.source.table, key, id, entity.target) == true { return nil }
            let row = zip(target.attributes, values).map { attribute, column in
                column[key] ?? (attribute.kind == .links ? .links([]) : .null)
            }
            for (attribute, value) in zip(target.attributes, row) where value.isNull && !attribute.isOptional {
                return nil
            }
            return (id, try EncodedRecord(row, layout: target.layout))
        }
    }

    private func identifier(_ root: String, _ key: Int64) throws -> UUID { try identifiers.identifier(root, key) }

    // MARK: Fields

    private func read(
        _ field: CoreDataPlan.Field,
        _ attribute: AttributeDescription,
        _ keys: [Int64],
        _ columns: WitnessColumns,
        _ entity: CoreDataPlan.Entity
    ) throws -> [Int64: Value] {
        let source = entity.source
        func all(_ value: (Int64) throws -> Value) rethrows -> [Int64: Value] {
            Dictionary(try keys.map { ($0, try value($0)) }, uniquingKeysWith: { first, _ in first })
        }
        switch field {
        case .missing: return [:]
        case .constant(let value): return all { _ in value }
        case .identity: return try all { .uuid(try identifier(source.root, $0)) }
        case .key: return all { .int($0) }
        case .entityName: return all { _ in .string(source.name) }
        case .attribute(let name), .texts(let name):
            guard let described = source.attribute(name), let column = described.column else { return [:] }
            let values = try columns.values(column, described.type, as: attribute.kind)
            guard attribute.kind == .data else { return values }
            return values.compactMapValues { unwrapped($0, described) }
        case .number(let column): return try columns.integers(column).mapValues { .int($0) }
        case .referenceKey(let name):
            guard let column = Self.column(source.relationship(name)) else { return [:] }
            return try columns.integers(column).mapValues { .int($0) }
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

    /// The app's data, from a value stored inline after a marker byte or in an external file.
    private func unwrapped(_ value: Value, _ attribute: CoreDataAttribute) -> Value? {
        guard case .data(let kept) = value, let mark = kept.first else { return value }
        if mark == 1, attribute.allowsExternalStorage { return .data(Data(kept.suffix(from: kept.startIndex + 1))) }
        guard mark == 2, let name = WitnessCell.externalName(kept) else { return value }
        return WitnessCell.externalBytes(name, of: file).map { .data($0) }
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
        try columns.integers(column).mapValues { key in
            let id = try identifier(root, key)
            return kind == .links ? .links([id]) : .uuid(id)
        }
    }

    private func links(_ name: String, _ source: CoreDataEntity, _ columns: WitnessColumns) throws -> [Int64: [UUID]] {
        guard let relationship = source.relationship(name),
            let root = file.model.entity(relationship.destination)?.root
        else { return [:] }
        return try columns.links(relationship).mapValues { try $0.map { try identifier(root, $0) } }
    }
}
