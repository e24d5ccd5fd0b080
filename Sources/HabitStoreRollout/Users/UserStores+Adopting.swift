import Foundation
@_spi(Engines) import HabitStore

extension UserStores {
    /// Accepts one of a user's stores as the current one, as it is: the explicit word of a person for a store that is older
    /// than what was acknowledged, or of another origin, and that nobody is served from otherwise.
    ///
    /// The user is at `off` then, or at `complete` where the store is the new one. The other store is set aside beside it, and
    /// never deleted, unless it holds nothing that the accepted one has not. What was proven before does not count.
    ///
    /// - Parameters:
    ///   - engine: the store's engine.
    ///   - person: who accepts it, for the evidence.
    ///   - reason: why, for the evidence.
    ///   - isOtherMachineLost: whether the machine that the store says its user belongs to is lost for good. Should it go on all the
    ///     same, it refuses to serve the user once it has seen that.
    /// - Returns: what was done, one line each.
    /// - Throws: ``HabitStoreError/Code/notFound`` when there is no such store; ``HabitStoreError/Code/notAuthoritative`` when the
    ///   user belongs to another machine, which may go on; ``HabitStoreError/Code/migrationRequired`` where the other store serves and a
    ///   migration of the plan has ended between the two; what is wrong with the store.
    public func adopt(
        _ engine: EngineName,
        for user: String,
        by person: String,
        because reason: String,
        isOtherMachineLost: Bool = false
    ) throws -> [String] {
        let directory = try known(user)
        let lock = try SwitchLock(directory, options)
        defer { withExtendedLifetime(lock) {} }
        try ErasureMark(directory).requireNone()
        try Restoration.requireNone(directory)
        let control = try ControlFile(path: directory.path + "/control")
        try requireFinishedMigration(directory, control, accepting: engine)
        let pair = StorePair(directory: directory, schema: schema(of: directory), engines: engines)
        defer { pair.close() }
        guard let standing = try pair.standing(engine) else {
            throw HabitStoreError(
                .notFound,
                "the user has no \(engine.rawValue) store",
                at: .init(path: pair.address(engine).path)
            )
        }
        guard standing.role != .backfilling, !standing.isRescued else {
            throw HabitStoreError(
                .unsupported,
                "the \(engine.rawValue) store is an unfinished copy, or cannot be written: it cannot serve anybody",
                at: .init(path: pair.address(engine).path)
            )
        }
        if !isOtherMachineLost, let elsewhere = StoreWitness(directory, control).objection(toMachineOf: standing) {
            throw elsewhere
        }
        var lines: [String] = []
        let between = try pair.engines(preferring: engines.pair(old: engine))
        let otherEngine = (standing.state?.engines ?? between).other(than: engine)
        let other = Result { try pair.standing(otherEngine) }
        // A store that only followed was told nothing of the rollout.
        let known = standing.state ?? (try? other.get())?.state ?? RolloutState(stage: .off, engines: between)
        if !isOtherMachineLost, engines.isShared(otherEngine), let there = try? other.get(), there.hasServed,
            there.machine.map(directory.isElsewhere) ?? true
        {
            throw HabitStoreError(
                .notAuthoritative,
                "the \(otherEngine.rawValue) store serves the user wherever it is reached from, and would be set aside: take the user back "
                    + "with `\(OperatorCommand.name) rollout demote`; where no other machine goes on with it, say so with "
                    + "`--other-machine-is-lost`",
                at: .init(path: there.path)
            )
        }
        let epoch = max(standing.epoch, (try? other.get())?.epoch ?? 0, control.floor) + 1
        if try pair.exists(otherEngine), !isContained(other, in: standing, pair) {
            pair.close(otherEngine)
            let aside = try engines.setAside(pair.address(otherEngine), as: "adopted-\(epoch)")
            lines.append("the \(otherEngine.rawValue) store is \(aside) now")
        }
        let isKilled = known.isKilled || control.isKilled
        // For a killed user the accepted store is where the kill has led to.
        let accepted = isKilled ? EnginePair(old: engine, new: otherEngine) : known.engines
        let stage: Stage = accepted.old == engine ? .off : .complete
        var state = RolloutState(stage: stage, engines: accepted, isKilled: isKilled)
        state.fled = isKilled ? otherEngine : nil
        (state.evidence, state.vouched, state.turns) = (known.evidence, known.vouched, known.turns)
        let change = StageSwitch(pair: pair, control: control, stepLimitSeconds: options.stepLimitSeconds)
        control.adopt(lineage: standing.lineage, mark: standing.token)
        try change.set(engine, .authoritative, epoch: epoch, state, expecting: standing.place)
        let log = EvidenceLog(directory, keys: options.evidenceKeys)
        try log.append([.adopted(engine: engine, epoch: epoch, by: person, because: reason)], at: Date())
        control.noteCopy()
        control.noteSeen(log)
        control.publish(stage, epoch: epoch)
        lines.append(
            "the \(engine.rawValue) store is current from epoch \(epoch) on, at token \(standing.token); "
                + "the user is at \(stage.rawValue)"
        )
        return lines
    }

    /// A store is not accepted in the place of the one that serves where only a migration's end is missing: what was written since would go.
    private func requireFinishedMigration(
        _ directory: UserDirectory,
        _ control: ControlFile,
        accepting engine: EngineName
    ) throws {
        let pair = StorePair(directory: directory, schema: schema, access: .readOnly, engines: engines)
        defer { pair.close() }
        guard let plan = options.migrationPlan,
            let unfinished = pair.unfinishedMigration(pair.look(limitSeconds: options.stepLimitSeconds))
        else { return }
        let migration = PairMigration(
            directory: directory,
            plan: plan,
            engines: engines,
            control: control,
            stepLimitSeconds: options.stepLimitSeconds
        )
        // Where nobody is served, it is for a person to say which one counts.
        guard let serving = try? migration.serving(engines.pair(), isKilled: control.isKilled), serving != engine
        else { return }
        throw HabitStoreError(
            .migrationRequired,
            "the \(serving.rawValue) store serves this user: \(unfinished.description); \(unfinished.remedy)",
            at: .init(path: directory.path)
        )
    }

    /// Whether a store holds nothing that another one has not.
    private func isContained(
        _ other: Result<Standing?, any Error>,
        in standing: Standing,
        _ pair: StorePair
    ) -> Bool {
        guard let other = try? other.get(), other.lineage == standing.lineage, other.token <= standing.token,
            other.role == .standby
        else { return false }
        let agree = try? pair.store(standing.engine).replicaRead { a in
            try pair.store(other.engine).replicaRead { try Replication.agree(a, $0, at: other.token) }
        }
        return agree == true
    }
}
