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
        "`\(OperatorCommand.name) migrate --user U` finishes it, as does the next opening by a program with the plan"
    }
}
