import Foundation

extension OpenedMigration {
    /// Tries the pending stages out on a copy of the store, and compares both. The store is not touched.
    ///
    /// - Parameters:
    ///   - directory: where the copy is made, which is removed again; it needs the space of the store, twice.
    ///   - copied: the same migration, of the copy at a path.
    /// - Throws: what running the stages would throw.
    package func rehearse(
        in directory: String,
        progress: (MigrationProgress) throws -> Void,
        copied: (String) -> OpenedMigration
    ) throws -> MigrationRehearsal {
        let stages = try pending()
        let schema = try stages.first?.from.schema ?? plan.current()
        return try ScratchFolder.with(in: directory, for: "migration") { folder in
            let before = try open(schema, .readOnly)
            defer { before.close() }
            let copy = "\(folder)/store"
            try before.backup(to: copy)
            let migration = copied(copy)
            var outcome = try migration.run(progress: progress)
            outcome.backups = []
            let after = try migration.open(try plan.current(), .readOnly)
            defer { after.close() }
            let known = Set(try before.check { _ in })
            return MigrationRehearsal(
                outcome: outcome,
                entities: try MigrationComparison(stages, from: schema, to: after.schema).compare(before, after),
                findings: try after.check { _ in }.filter { !known.contains($0) } + after.checkDigests()
            )
        }
    }
}
