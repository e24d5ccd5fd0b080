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
