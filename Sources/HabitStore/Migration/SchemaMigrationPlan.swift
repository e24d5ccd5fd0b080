/// The versions that an app's schema has had, and what leads from each to the next.
///
/// ```swift
/// enum NotesPlan: SchemaMigrationPlan {
///     static let schemas: [any VersionedSchema.Type] = [NotesV1.self, NotesV2.self]
///     static let stages = [MigrationStage.lightweight(fromVersion: NotesV1.self, toVersion: NotesV2.self)]
/// }
/// let store = try SQLiteHabitStore(path: path, migrationPlan: NotesPlan.self)
/// ```
public protocol SchemaMigrationPlan: SendableMetatype {
    /// The versions, oldest first; the last one is what a store is brought to.
    static var schemas: [any VersionedSchema.Type] { get }

    /// The stages. From each version the stages that begin with it lead on, the one that leads farthest first.
    static var stages: [MigrationStage] { get }
}

extension SchemaMigrationPlan {
    /// The schema that stores are brought to.
    ///
    /// - Throws: ``HabitStoreError/Code/schemaMismatch`` when the plan has no version, or contradicts itself.
    public static func current() throws -> Schema {
        guard let last = schemas.last else { throw Self.contradiction("has no version") }
        for (version, next) in zip(schemas, schemas.dropFirst())
        where version.versionIdentifier >= next.versionIdentifier {
            throw Self.contradiction(
                "has version \(next.versionIdentifier) after version \(version.versionIdentifier); the oldest comes first"
            )
        }
        return last.schema
    }

    /// The stages that lead from a version to the last one, in order; none from the last one.
    ///
    /// - Throws: ``HabitStoreError/Code/newerVersion`` for a version after the last one,
    ///   ``HabitStoreError/Code/schemaMismatch`` for one from which no stage leads there.
    static func stages(from version: Schema.Version, path: String?) throws -> [MigrationStage] {
        let target = try current().version
        guard version <= target else {
            throw HabitStoreError(
                .newerVersion,
                "the store is of schema version \(version), and this program knows versions up to \(target); "
                    + "use a newer program",
                at: .init(path: path)
            )
        }
        var path: [MigrationStage] = []
        var reached = version
        while reached < target {
            let next = stages.filter { $0.from.versionIdentifier == reached && $0.to.versionIdentifier <= target }
                .max { $0.to.versionIdentifier < $1.to.versionIdentifier }
            guard let next, next.to.versionIdentifier > reached else {
                throw unreachable(version, reached, target)
            }
            path.append(next)
            reached = next.to.versionIdentifier
        }
        return path
    }

    private static func unreachable(
        _ version: Schema.Version,
        _ reached: Schema.Version,
        _ target: Schema.Version
    ) -> HabitStoreError {
        guard schemas.contains(where: { $0.versionIdentifier == version }) else {
            let known = schemas.map { "\($0.versionIdentifier)" }.joined(separator: ", ")
            return HabitStoreError(
                .schemaMismatch,
                "the store is of schema version \(version), which the migration plan does not have; it has \(known)"
            )
        }
        return contradiction("has no stage that leads from version \(reached) towards \(target)")
    }

    private static func contradiction(_ message: String) -> HabitStoreError {
        HabitStoreError(.schemaMismatch, "the migration plan \(Self.self) \(message)")
    }
}

/// A step from one version of a schema to a later one.
///
/// A stage is one transaction: the store always has either the old version or the new one. Identifiers, history and tokens stay. Changes by the
/// stage's hooks are in the history, like an app's changes; the consequences of the new shape alone are not.
public enum MigrationStage: Sendable {
    /// Changes the records' shape as the two versions' declarations say: entities and attributes are added (optional, or
    /// with a default), removed, or renamed (by `originalName`), nil may be allowed or, where there is a default, forbidden.
    case lightweight(fromVersion: any VersionedSchema.Type, toVersion: any VersionedSchema.Type)

    /// A stage with work before and after it. An attribute of the same name may have another kind in the new version, and begins with its default
    /// there, with nil, or without links.
    ///
    /// - `willMigrate` writes to the store in its old shape.
    /// - `didMigrate` gets a snapshot from before the stage, and writes to it in its new shape.
    ///
    /// Hooks must be deterministic across a user's stores: derive the identifiers of new records (see `UUID.named(_:in:)`), and do not use the
    /// clock.
    case custom(
        fromVersion: any VersionedSchema.Type,
        toVersion: any VersionedSchema.Type,
        willMigrate: (@Sendable (_ store: any WriteTransaction) throws -> Void)?,
        didMigrate: (@Sendable (_ before: any ReadTransaction, _ store: any WriteTransaction) throws -> Void)?
    )

    /// The version that it leads from.
    public var from: any VersionedSchema.Type {
        switch self {
        case .lightweight(let from, _), .custom(let from, _, _, _): return from
        }
    }

    /// The version that it leads to.
    public var to: any VersionedSchema.Type {
        switch self {
        case .lightweight(_, let to), .custom(_, let to, _, _): return to
        }
    }

    /// Whether it has hooks.
    public var isCustom: Bool {
        if case .custom = self { return true }
        return false
    }
}

/// What one stage did to a store, or would do.
public struct MigrationStep: Sendable, Hashable, Codable {
    /// The version that it led from.
    public let from: Schema.Version
    /// The version that it led to.
    public let to: Schema.Version
    /// Whether the stage has hooks.
    public let isCustom: Bool
    /// The changes in the declarations, one sentence each.
    public let changes: [String]
    /// What goes for good, with the number of records that had a value there when the stage began.
    public internal(set) var drops: [MigrationDrop]
    /// How many records were rewritten.
    public internal(set) var rewrittenRecords: Int
    /// How many changes of records the hooks came to.
    public internal(set) var hookChanges: Int
}

/// Something that a stage removes from a store for good: an attribute, or an entity with all its records.
public struct MigrationDrop: Sendable, Hashable, Codable {
    /// The entity's name before the stage.
    public let entity: String
    /// The attribute's name; nil where the whole entity goes.
    public let attribute: String?
    /// How many records have a value there: one that is neither nil, nor empty, nor the default that the older version
    /// declares. Of an entity that goes, how many records it has.
    public internal(set) var records: Int

    init(entity: String, attribute: String?) { (self.entity, self.attribute, records) = (entity, attribute, 0) }
}

extension MigrationDrop: CustomStringConvertible {
    /// For people: `Note.rank, with a value in 3 records`.
    public var description: String {
        let count = "\(records) \(records == 1 ? "record" : "records")"
        return attribute.map { "\(entity).\($0), with a value in \(count)" } ?? "\(entity), with \(count)"
    }
}
