import Foundation
@_spi(Engines) import HabitStore

extension StorePair {
    /// The two engines of a user's rollout.
    ///
    /// The flags decide as long as the user has no stores of other engines. A user in the middle of another rollout, or at its end with both stores
    /// still there, stays with the engines that the stores themselves name.
    ///
    /// - Parameter wanted: the engines that the flags want.
    /// - Throws: why a store cannot be read, if no other store names the engines.
    func engines(preferring wanted: EnginePair) throws -> EnginePair {
        if known.names.allSatisfy(wanted.contains) { return wanted }
        guard known.names.contains(where: { !wanted.contains($0) && mayExist($0) }) else { return wanted }
        let found = statuses()
        if let failure = found.failure, found.statuses.allSatisfy({ $0.state == nil }) { throw failure }
        return engines(found.statuses, preferring: wanted)
    }

    /// The same, from the status of the stores: the leading store decides.
    func engines(_ statuses: [ReplicaStatus], preferring wanted: EnginePair) -> EnginePair {
        guard let leading = statuses.leading else { return wanted }
        let engines = leading.state?.engines ?? EnginePair(old: leading.engine, new: wanted.other(than: leading.engine))
        let other = engines.other(than: leading.engine)
        // A store that cannot be read, or whose engine this program lacks, still exists.
        let isAlone = known.contains(other) && !mayExist(other)
        return isAlone && wanted.contains(leading.engine) ? wanted : engines
    }

    /// Whether there is a store; true if unknown.
    func mayExist(_ engine: EngineName) -> Bool { (try? exists(engine)) ?? true }

    /// The status of all of the user's stores, each read once.
    ///
    /// - Parameter limitSeconds: the time limit for each; nil for none. A store that hangs keeps its thread.
    func statuses(limitSeconds: Double? = nil) -> ReplicaStatuses {
        var found = ReplicaStatuses()
        func ask(_ engine: EngineName) {
            let answer = Result {
                guard let limitSeconds else { return try status(engine) }
                return try Deadline.run(seconds: limitSeconds, path: address(engine).path) { [self] _ in
                    do {
                        return try status(engine)
                    } catch {
                        close(engine)
                        throw error
                    }
                }
            }
            found.note(engine, answer, self)
        }
        for engine in known.names { ask(engine) }
        // They were not read at the same moment, and both may have got a write in between.
        if let ahead = found.statuses.max(by: { $0.token < $1.token }), ahead.role == .standby {
            for engine in found.statuses.map(\.engine) where engine != ahead.engine { ask(engine) }
        }
        return withoutMigrations(found, limitSeconds: limitSeconds)
    }

    /// The same, but a store that does not serve and was migrated before the other one is shown as before its migration: what the migration's hooks
    /// changed is not part of the common history. Mistaken for writes, it would make the serving store look restored from a copy, or the other one
    /// look complete.
    func withoutMigrations(_ found: ReplicaStatuses, limitSeconds: Double?) -> ReplicaStatuses {
        guard let versions = unfinishedMigration(found)?.versions,
            let oldest = versions.map(\.version).min()
        else { return found }
        var adjusted = found
        for (engine, version) in versions where version > oldest {
            guard let status = found.status(engine), status.role != .authoritative else { continue }
            let before = Result {
                guard let limitSeconds else { return try tokenBeforeMigration(status) }
                return try Deadline.run(seconds: limitSeconds, path: status.path) { [self] _ in
                    try tokenBeforeMigration(status)
                }
            }
            adjusted.note(engine, before.map { status.before($0) }, self)
        }
        return adjusted
    }

    /// The most transactions of a migration at the end of a history: two per stage of a plan.
    private static let mostMigrations: Int64 = 256

    /// The last token of a store before a migration at the end of its history.
    private func tokenBeforeMigration(_ status: ReplicaStatus) throws -> HistoryToken {
        let (token, floor) = (status.token.rawValue, status.information.historyFloor.rawValue)
        let first = HistoryToken(rawValue: max(floor, token - Self.mostMigrations))
        var last = first
        try store(status.engine).replicaRead { replica in
            try replica.enumerateHistory(after: first) { transaction in
                if transaction.token <= status.token, !transaction.isMigration { last = transaction.token }
                return true
            }
        }
        return last
    }
}

extension Engines {
    /// The store of an engine in a user's folder.
    func address(_ engine: EngineName, of directory: UserDirectory) -> StoreAddress {
        address(engine, ofUser: directory.user, inFolder: directory.path)
    }
}

extension Engines {
    /// The same engines, with addresses for copies that this machine makes of users' stores, separate from those of other machines.
    ///
    /// - Parameter directory: the user's folder.
    func copied(as name: String, by directory: UserDirectory) throws -> Engines {
        let isShared = names.contains(where: isShared)
        return copied(as: isShared ? "\(name)-\(try directory.machine.number)" : name)
    }
}

extension StorePair {
    /// Whether other machines can reach the serving store, and no other store counts: then the stores contain everything about the user, and a folder
    /// only has copies.
    func isWithoutMachine(_ state: RolloutState) -> Bool {
        let serving = state.engine(state.stage.authority)
        guard known.isShared(serving) else { return false }
        return known.isShared(state.engines.other(than: serving)) || state.stage == .off || state.stage == .complete
    }

    /// The machine that a user in some state belongs to: this one; nil for none, and if only this one can reach the user's stores anyway.
    ///
    /// - Throws: why this machine cannot be identified.
    func machine(_ state: RolloutState) throws -> Machine? {
        guard state.engines.names.contains(where: known.isShared), !isWithoutMachine(state) else { return nil }
        return try directory.machine
    }

    /// The text of a state for a store, including the user and machine that it belongs to.
    func text(of state: RolloutState) throws -> String {
        var owned = state
        owned.owner = directory.owner
        owned.machine = try machine(state)?.text
        return try owned.encoded()
    }

    /// Records in a copy that other machines can reach which machine has the user's other store, so that they do not take the copy for the user's
    /// only store.
    ///
    /// - Throws: ``HabitStoreError/Code/notAuthoritative`` if it belongs to another machine.
    func claimCopy(_ engine: EngineName, _ state: RolloutState) throws {
        guard known.isShared(engine), let machine = try machine(state) else { return }
        let text = try text(of: state)
        try store(engine).replicate { replica in
            let there = try status(engine, replica)
            if let elsewhere = StatusCheck(directory, nil).objection(toMachineOf: there) { throw elsewhere }
            guard !there.hasServed, there.machine != machine else { return }
            try replica.setRolloutState(text)
        }
    }
}

extension Engines {
    /// The schema that the store's records have.
    ///
    /// - Parameter plan: has the schemas of stores of the first format, which contain a hash of each entity only.
    /// - Throws: ``HabitStoreError/Code/schemaMismatch`` if the store contains no schema and is of no version of the plan; what is wrong with the file.
    public func storedSchema(
        of address: StoreAddress,
        plan: (any SchemaMigrationPlan.Type)?
    ) throws -> StoredSchema {
        let outline = try outline(address)
        if let schema = outline.schema { return schema }
        let known = plan?.schemas.first { $0.versionIdentifier == outline.version }
        guard let schema = known?.schema else {
            throw HabitStoreError(
                .schemaMismatch,
                "the store does not contain its schema, and is of no version of the app's migration plan",
                at: .init(path: address.path)
            )
        }
        // Opening compares the hashes.
        try open(address, .readOnly, schema: schema).close()
        return StoredSchema(schema)
    }
}

extension Engines {
    /// Opens a store of any schema version, with the schema that it was written with. A store of a newer version can only be read: its app may
    /// maintain rules that are unknown here.
    ///
    /// - Parameter plan: has the schemas of versions whose stores do not contain theirs; nil if there are none.
    /// - Throws: a typed error for anything that is wrong with the file.
    public func openAsWritten(
        _ address: StoreAddress,
        _ access: StoreAccess,
        schema: Schema,
        plan: (any SchemaMigrationPlan.Type)?
    ) throws -> any UserStoreBackend {
        do {
            return try open(address, access, schema: schema)
        } catch let error as HabitStoreError
            where [.migrationRequired, .schemaMismatch].contains(error.code)
            || (error.code == .newerVersion && access == .readOnly)
        {
            let outline = try outline(address)
            if let stored = outline.schema {
                return try open(address, access, schema: Schema(shapes: stored.entities, version: stored.version))
            }
            guard let version = plan?.schemas.first(where: { $0.versionIdentifier == outline.version }) else {
                throw error
            }
            return try open(address, access, schema: version.schema)
        }
    }
}

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
