import Foundation

/// The effect that a migration would have on a store, found by migrating a copy.
public struct MigrationRehearsal: Sendable, Hashable, Codable {
    /// The records of one entity before and after, read from the files by code that does not migrate.
    public struct Entity: Sendable, Hashable, Codable {
        /// The entity's name after the migration, or before it if the migration drops the entity.
        public var name: String
        /// How many records there were; nil for a new entity.
        public var before: Int?
        /// How many there are; nil for an entity that is gone.
        public var after: Int?
        /// How many have every value that both versions have.
        public var unchanged = 0
        /// How many of the records before are not there any more.
        public var missing = 0
        /// How many were not there before.
        public var added = 0
        /// For each attribute that both versions have, how many records have another value there. Hooks may do that.
        public var changed: [String: Int] = [:]
    }

    /// The result; without copies, since the store itself was not touched.
    public let outcome: MigrationOutcome
    /// What became of the records.
    public let entities: [Entity]
    /// Findings of the check that the copy has and the store does not.
    public let findings: [StoreFinding]

    /// Whether no record is gone that its entity has not taken along, and the migrated store contradicts itself nowhere.
    public var isSound: Bool {
        entities.allSatisfy { $0.after == nil || $0.missing == 0 } && findings.allSatisfy { $0.severity == .anomaly }
    }
}

extension StoreMigrator {
    /// Tries the pending stages out on a copy of the store, and compares both. The store is not touched.
    ///
    /// - Parameters:
    ///   - directory: where the copy is made, which is removed again; it needs the space of the store, twice.
    ///   - progress: as for ``run(progress:)``.
    /// - Throws: what running the stages would throw.
    public func rehearse(
        in directory: String,
        progress: (MigrationProgress) throws -> Void = { _ in }
    ) throws -> MigrationRehearsal {
        let stages = try pending()
        // A store without pending stages may still be damaged, which `check` reports.
        guard let schema = stages.first?.from.earlierSchema else {
            let outcome = MigrationOutcome(version: try plan.current().version, steps: [], backups: [])
            return MigrationRehearsal(outcome: outcome, entities: [], findings: [])
        }
        return try ScratchFolder.with(in: directory, for: "migration") { folder in
            let before = try open(path, schema, .readOnly)
            defer { before.close() }
            let copy = copy(inFolder: folder)
            var copies = [copy]
            defer { try? discard(copies) }
            try before.backup(to: copy)
            let migration = copied(to: copy)
            var outcome = try migration.run(progress: progress)
            copies += outcome.backups
            outcome.backups = []
            let after = try migration.open(copy, try plan.current(), .readOnly)
            defer { after.close() }
            let known = Set(try before.check { _ in } + before.checkDigests())
            return MigrationRehearsal(
                outcome: outcome,
                entities: try MigrationComparison(stages, from: schema, to: after.schema).compare(before, after),
                findings: try (after.check { _ in } + after.checkDigests()).filter { !known.contains($0) }
            )
        }
    }
}

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
