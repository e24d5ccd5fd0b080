import Foundation

/// An entity after a migration, and its counterpart before it.
private struct EntityPairing {
    let source: Int?
    /// The attributes that both have with the same kind: their positions before and after.
    var attributes: [(before: Int, after: Int)] = []
}

/// Compares the records of a store before and after a migration through the audit's cursors, which share nothing with the code that
/// migrates records.
struct MigrationComparison {
    private let old: Schema
    private let new: Schema
    private let pairings: [EntityPairing]

    init(_ stages: [MigrationStage], from old: Schema, to new: Schema) {
        (self.old, self.new) = (old, new)
        let schemas = [old] + stages.map { $0.to.earlierSchema }
        pairings = new.entities.map { Self.pair($0, schemas, old) }
    }

    private static func pair(_ entity: EntityDescription, _ schemas: [Schema], _ old: Schema) -> EntityPairing {
        // Back through the versions, by the names that there were.
        var found = entity
        var names = Dictionary(uniqueKeysWithValues: entity.attributes.map { ($0.name, $0.name) })
        for (earlier, schema) in zip(schemas, schemas.dropFirst()).reversed() {
            guard let last = schema.entities.first(where: { $0.name == found.name }),
                let place = earlier.entities.place(ofFormer: last)
            else { return EntityPairing(source: nil) }
            let before = earlier.entities[place]
            names = names.compactMapValues { name in
                last.attributes.first { $0.name == name }
                    .flatMap { before.attributes.place(ofFormer: $0) }.map { before.attributes[$0].name }
            }
            found = before
        }
        guard let source = old.entities.firstIndex(where: { $0.name == found.name }) else {
            return EntityPairing(source: nil)
        }
        var pairing = EntityPairing(source: source)
        let before = old.entities[source].attributes
        for (position, attribute) in entity.attributes.enumerated() {
            guard let place = before.firstIndex(where: { $0.name == names[attribute.name] }),
                before[place].kind == attribute.kind
            else { continue }
            pairing.attributes.append((place, position))
        }
        return pairing
    }

    func compare(
        _ before: some HabitStore,
        _ after: some HabitStore
    ) throws -> [MigrationRehearsal.Entity] {
        try before.read { before in
            try after.read { after in
                let (before, after) = (try Self.audited(before), try Self.audited(after))
                var entities = try pairings.enumerated().map { try compare($1, at: $0, before, after) }
                let used = Set(pairings.compactMap(\.source))
                for entity in old.entities.indices where !used.contains(entity) {
                    var gone = MigrationRehearsal.Entity(name: old.entities[entity].name, before: 0)
                    let cursor = try before.auditCursor(entity: entity, in: .all)
                    while try cursor.next() { gone.missing += 1 }
                    gone.before = gone.missing
                    entities.append(gone)
                }
                return entities
            }
        }
    }

    private static func audited(_ transaction: any ReadTransaction) throws -> any AuditableTransaction {
        guard let audited = transaction as? any AuditableTransaction else {
            throw HabitStoreError(.unsupported, "the store's records cannot be read past what migrates them")
        }
        return audited
    }

    private func compare(
        _ pairing: EntityPairing,
        at target: Int,
        _ before: any AuditableTransaction,
        _ after: any AuditableTransaction
    ) throws -> MigrationRehearsal.Entity {
        var entity = MigrationRehearsal.Entity(name: new.entities[target].name, before: nil, after: 0)
        let right = try after.auditCursor(entity: target, in: .all)
        var hasRight = try right.next()
        func passRight() throws {
            entity.after = (entity.after ?? 0) + 1
            hasRight = try right.next()
        }
        if let source = pairing.source {
            entity.before = 0
            let left = try before.auditCursor(entity: source, in: .all)
            while try left.next() {
                entity.before = (entity.before ?? 0) + 1
                while hasRight, right.identifier.isBefore(left.identifier) {
                    entity.added += 1
                    try passRight()
                }
                guard hasRight, right.identifier == left.identifier else {
                    entity.missing += 1
                    continue
                }
                try note(pairing, left, right, target, &entity)
                try passRight()
            }
        }
        while hasRight {
            entity.added += 1
            try passRight()
        }
        return entity
    }

    private func note(
        _ pairing: EntityPairing,
        _ left: any AuditCursor,
        _ right: any AuditCursor,
        _ target: Int,
        _ entity: inout MigrationRehearsal.Entity
    ) throws {
        let (a, b) = (try Self.parts(left), try Self.parts(right))
        var isUnchanged = true
        for (before, after) in pairing.attributes where !Self.areSame(a[before], b[after]) {
            entity.changed[new.entities[target].attributes[after].name, default: 0] += 1
            isUnchanged = false
        }
        if isUnchanged { entity.unchanged += 1 }
    }

    private static func parts(_ cursor: any AuditCursor) throws -> [CanonicalReader.Part] {
        var reader = CanonicalReader(cursor.canonical)
        var parts: [CanonicalReader.Part] = []
        while let part = try reader.next() { parts.append(part) }
        return parts
    }

    /// Texts of older stores may be of another Unicode form, in which they are the same to Swift.
    private static func areSame(_ a: CanonicalReader.Part, _ b: CanonicalReader.Part) -> Bool {
        if a.isIdentical(to: b) { return true }
        switch (a.value, b.value) {
        case (.string(let a)?, .string(let b)?): return a == b
        case (.strings(let a)?, .strings(let b)?): return a == b
        default: return false
        }
    }
}
