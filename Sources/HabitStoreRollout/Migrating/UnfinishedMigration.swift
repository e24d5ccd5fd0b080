@_spi(Engines) import HabitStore

/// A migration that stopped between a user's two stores.
struct UnfinishedMigration {
    let versions: [(engine: EngineName, version: Schema.Version)]

    /// The state, in one sentence.
    var description: String {
        let stores = versions.map { "the \($0.engine.rawValue) store is of schema version \($0.version)" }
        return "\(stores.joined(separator: ", and ")): a migration has ended between them"
    }

    /// The remedy, in one sentence.
    var remedy: String {
        "`\(OperatorCommand.name) rollout doctor --user U --fix` finishes it, with the plan that leads to the newer one"
    }

    /// Whether a plan leads to the newer version and not beyond: only the app begins further migrations.
    func isFinished(by plan: (any SchemaMigrationPlan.Type)?) -> Bool {
        guard let end = try? plan?.current().version else { return false }
        return versions.allSatisfy { $0.version <= end } && versions.contains { $0.version == end }
    }
}
