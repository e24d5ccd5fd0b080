import Foundation
@_spi(Engines) import HabitStore

/// Converts the transactions of a source's history to those of the target.
struct HistoryCarrier {
    private let plan: CoreDataPlan
    private let file: CoreDataFile
    private let resolver: IdentityResolver

    init(_ plan: CoreDataPlan, _ file: CoreDataFile, _ resolver: IdentityResolver) {
        (self.plan, self.file, self.resolver) = (plan, file, resolver)
    }

    /// A change of the source and the record it concerns.
    struct Carried {
        let entity: CoreDataPlan.Entity
        let id: UUID
        let change: CoreDataChange
    }

    /// The changes of a transaction that concern entities of the plan.
    ///
    /// - Parameter deleted: finds the identifier of a record that the source no longer has, by entity and key.
    func carried(
        _ changes: [CoreDataChange],
        deleted: (CoreDataPlan.Entity, Int64) throws -> UUID?
    ) throws -> [Carried] {
        try changes.compactMap { change in
            guard let entity = plan.entity(number: change.entity) else { return nil }
            return Carried(entity: entity, id: try identifier(change, entity, deleted), change: change)
        }
    }

    private func identifier(
        _ change: CoreDataChange,
        _ entity: CoreDataPlan.Entity,
        _ deleted: (CoreDataPlan.Entity, Int64) throws -> UUID?
    ) throws -> UUID {
        let source = entity.source
        if try file.entityNumber(of: change.key, in: source.table) != nil {
            return try resolver.identifier(root: source.root, key: change.key)
        }
        if let known = try deleted(entity, change.key) { return known }
        // A tombstone does not say which value belongs to which attribute; if it contains a single UUID, that is the identity.
        if let name = plan.identities[source.root], let attribute = source.attribute(name) {
            let ids = change.tombstone.compactMap { IdentityRule.identifier($0.value, attribute.type) }
            if ids.count == 1 { return ids[0] }
        }
        return resolver.derived(source.root, change.key)
    }

    /// The change in the form of the target's history.
    func change(_ carried: Carried) -> HistoryChange {
        let entity = plan.schema.entities[carried.entity.target]
        let kind: HistoryChange.Kind
        switch carried.change.kind {
        case .insert: kind = .insert
        case .update: kind = .update(updatedAttributes: updated(carried.entity))
        case .delete: kind = .delete(tombstone: tombstone(carried))
        }
        return HistoryChange(entity: entity.name, id: carried.id, kind: kind)
    }

    /// The source's history does not say which attributes an update changed, so it lists all that may have.
    private func updated(_ entity: CoreDataPlan.Entity) -> [String] {
        zip(plan.schema.entities[entity.target].attributes, entity.fields).compactMap { attribute, field in
            switch field {
            case .missing, .constant, .identity, .key, .entityName: return nil
            default: return attribute.name
            }
        }
    }

    private func tombstone(_ carried: Carried) -> [String: Value] {
        var values: [String: Value] = ["id": .uuid(carried.id)]
        for (attribute, field) in zip(plan.schema.entities[carried.entity.target].attributes, carried.entity.fields) {
            switch field {
            case .key: values[attribute.name] = .int(carried.change.key)
            case .entityName: values[attribute.name] = .string(carried.entity.source.name)
            default: break
            }
        }
        // No table says which attribute a tombstone column belongs to, so the value keeps the column's name.
        for (column, stored) in carried.change.tombstone {
            switch stored {
            case .null: break
            case .int(let number): values[column] = .int(number)
            case .real(let number): values[column] = number.isFinite ? .double(number) : .string("\(number)")
            // Stored as bytes, as NFC would replace characters.
            case .text(let text) where text.isReplacedByNFC: values[column] = .data(Data(text.utf8))
            case .text(let text): values[column] = .string(text.normalizedForStore)
            case .blob(let bytes), .malformedText(let bytes): values[column] = .data(bytes)
            }
        }
        return values
    }

    /// The net change of each record, in the order of their first changes.
    static func net(_ changes: [HistoryChange]) -> [HistoryChange] {
        struct Key: Hashable {
            let entity: String
            let id: UUID
        }
        var places: [Key: Int] = [:]
        var result: [HistoryChange?] = []
        for change in changes {
            let key = Key(entity: change.entity, id: change.id)
            guard let place = places[key], let before = result[place] else {
                places[key] = result.count
                result.append(change)
                continue
            }
            result[place] = merged(before, change)
        }
        return result.compactMap { $0 }
    }

    private static func merged(_ before: HistoryChange, _ after: HistoryChange) -> HistoryChange? {
        switch (before.kind, after.kind) {
        case (.insert, .delete): return nil
        case (.insert, _): return before
        case (.delete, .insert):
            return HistoryChange(entity: after.entity, id: after.id, kind: .update(updatedAttributes: []))
        case (.update(let first), .update(let second)):
            return HistoryChange(
                entity: after.entity,
                id: after.id,
                kind: .update(updatedAttributes: (first + second).uniqued())
            )
        default: return after
        }
    }
}

extension String {
    /// The text in the normalization form that stores use.
    var normalizedForStore: String {
        guard case .string(let text)? = try? Value.string(self).normalized() else { return self }
        return text
    }
}

/// The keys whose insertion the file's history records, ascending, read in step with the records.
struct SeenKeys {
    private let keys: SourceStatement?
    private var next: Int64?

    /// - Parameter root: an entity without a superentity; the entities that inherit from it share its keys.
    init(_ file: CoreDataFile, root: String) throws {
        guard file.history != nil else {
            keys = nil
            return
        }
        let numbers = file.model.family(of: root).map { String($0.number) }.joined(separator: ", ")
        let keys = try file.connection.prepare(
            "SELECT DISTINCT ZENTITYPK FROM ACHANGE WHERE ZCHANGETYPE = 0 AND ZENTITY IN (\(numbers)) "
                + "AND ZENTITYPK NOT NULL AND ZTRANSACTIONID IN (SELECT Z_PK FROM ATRANSACTION) ORDER BY 1"
        )
        self.keys = keys
        next = try keys.step() ? keys.optionalInt(0) : nil
    }

    /// Whether the history records the insertion of a key. Callers ask for keys in ascending order.
    mutating func contains(_ key: Int64) throws -> Bool {
        guard let keys else { return false }
        while let told = next, told < key { next = try keys.step() ? keys.optionalInt(0) : nil }
        return next == key
    }
}

extension String {
    /// Whether NFC, in which stores keep text, replaces or reorders characters instead of only composing them.
    ///
    /// `e` and an accent become `é`, and decomposing that gives the text back. A compatibility ideograph, the ångström sign, a
    /// precomposed Hebrew letter or marks in another order cannot be recovered.
    package var isReplacedByNFC: Bool {
        if isInNFC { return false }
        var parts = String.UnicodeScalarView()
        for scalar in unicodeScalars {
            let alone = String(scalar)
            guard alone.isInNFC else { return true }
            parts.append(contentsOf: alone.decomposedStringWithCanonicalMapping.unicodeScalars)
        }
        return !parts.elementsEqual(decomposedStringWithCanonicalMapping.unicodeScalars)
    }
}
