import Foundation

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
