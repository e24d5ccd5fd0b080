@_spi(Engines) import HabitStore

/// A migration that has ended between a user's two stores.
struct UnfinishedMigration {
    let versions: [(engine: EngineName, version: Schema.Version)]

    /// What there is: one sentence.
    var description: String {
        let stores = versions.map { "the \($0.engine.rawValue) store is of schema version \($0.version)" }
        return "\(stores.joined(separator: ", and ")): a migration has ended between them"
    }

    /// What helps: one sentence.
    var remedy: String {
        "`\(OperatorCommand.name) rollout doctor --user U --fix` finishes it, with the plan that leads to the newer one"
    }

    /// Whether a plan leads to the newer version, and no further: what the app has not begun is not for anybody else.
    func isFinished(by plan: (any SchemaMigrationPlan.Type)?) -> Bool {
        guard let end = try? plan?.current().version else { return false }
        return versions.allSatisfy { $0.version <= end } && versions.contains { $0.version == end }
    }
}
