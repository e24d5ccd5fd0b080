import Foundation
@_spi(Engines) import HabitStore

extension UserStores {
    /// Accepts one of a user's stores as the current one, unchanged. A person decides this for a store that is older than what was acknowledged, or
    /// of another origin, and that would otherwise serve no one.
    ///
    /// The user is then at `off`, or at `complete` if the store is the new one. The other store is set aside next to it, and not deleted unless
    /// the accepted one holds everything in it. Earlier proofs do not count.
    ///
    /// - Parameters:
    ///   - engine: the store's engine.
    ///   - person: the operator's name, for the evidence.
    ///   - reason: why, for the evidence.
    ///   - isOtherMachineLost: whether the machine that owns the user, according to the store, is lost for good. If it runs after all, it refuses to
    ///     serve the user once it has seen this.
    ///   - isDry: whether to report only what would be done and given up.
    /// - Returns: what is given up and what was done, one line each.
    /// - Throws: ``HabitStoreError/Code/notFound`` if there is no such store; ``HabitStoreError/Code/notAuthoritative`` if the user belongs to
    ///   another machine that may still run, or another store serves and holds more; ``HabitStoreError/Code/migrationRequired`` if the other store
    ///   serves and a migration of the plan ended between the two; ``HabitStoreError/Code/schemaMismatch`` if a store has a schema version that this
    ///   program lacks; what is wrong with the store.
    public func adopt(
        _ engine: EngineName,
        for user: String,
        by person: String,
        because reason: String,
        isOtherMachineLost: Bool = false,
        isDry: Bool = false
    ) throws -> [String] {
        let directory = try known(user)
        let lock = try SwitchLock(directory, options)
        defer { withExtendedLifetime(lock) {} }
        try ErasureTombstone(directory).requireNone()
        try Restoration.requireNone(directory)
        let path = directory.path + "/control"
        let control = try isDry ? ControlFile.copy(of: path) : ControlFile(path: path)
        try requireOpenable(directory)
        let access: StoreAccess = isDry ? .readOnly : .readWrite
        let pair = StorePair(directory: directory, schema: schema(of: directory), access: access, engines: engines)
        defer { pair.close() }
        guard let status = try pair.status(engine) else {
            throw HabitStoreError(
                .notFound,
                "the user has no \(engine.rawValue) store",
                at: .init(path: pair.address(engine).path)
            )
        }
        guard status.role != .backfilling, !status.isRescued else {
            throw HabitStoreError(
                .unsupported,
                "the \(engine.rawValue) store is an unfinished copy, or cannot be written: it cannot serve the user",
                at: .init(path: pair.address(engine).path)
            )
        }
        let between = try pair.engines(preferring: engines.pair(old: engine))
        let otherEngine = (status.state?.engines ?? between).other(than: engine)
        if !isOtherMachineLost {
            if let elsewhere = StatusCheck(directory, control).objection(toMachineOf: status) { throw elsewhere }
            try requireNotServingElsewhere(otherEngine, pair)
        }
        try requireNothingNewer(status, control, directory, isOtherMachineLost: isOtherMachineLost)
        let acceptance = Acceptance(
            status: status,
            other: otherEngine,
            between: between,
            pair: pair,
            control: control
        )
        if isDry { return acceptance.losses + ["nothing was changed"] }
        guard let control else { return [] }
        return try acceptance.losses + accept(acceptance, control, by: person, because: reason)
    }

    /// The store to accept, and the user's other one.
    private struct Acceptance {
        let status: ReplicaStatus
        let other: EngineName
        let between: EnginePair
        /// The other store.
        let beside: Result<ReplicaStatus?, any Error>
        let pair: StorePair
        /// Whether the accepted store has everything in the other one.
        let isContained: Bool
        /// The losses, one line each.
        let losses: [String]

        init(status: ReplicaStatus, other: EngineName, between: EnginePair, pair: StorePair, control: ControlFile?) {
            (self.status, self.other, self.between, self.pair) = (status, other, between, pair)
            beside = Result { try pair.status(other) }
            isContained = UserStores.isContained(beside, in: status, pair)
            var losses: [String] = []
            if let mark = control?.mark, mark > status.token, control?.lineage == status.lineage {
                losses.append(
                    "given up: what was acknowledged after token \(status.token) of the \(status.engine.rawValue) store, up to token \(mark)"
                )
            }
            if let store = try? beside.get(), !isContained {
                losses.append(
                    store.lineage != status.lineage
                        ? "given up: what the \(other.rawValue) store holds up to token \(store.token), which has another origin"
                        : "given up: what the \(other.rawValue) store holds up to token \(store.token), and the "
                            + "\(status.engine.rawValue) store lacks at token \(status.token)"
                )
            }
            self.losses = losses.isEmpty ? ["given up: nothing that is known"] : losses
        }
    }

    private func accept(
        _ acceptance: Acceptance,
        _ control: ControlFile,
        by person: String,
        because reason: String
    ) throws -> [String] {
        let (status, otherEngine, pair) = (acceptance.status, acceptance.other, acceptance.pair)
        let (engine, directory, other) = (status.engine, pair.directory, acceptance.beside)
        var lines: [String] = []
        // A store that only followed has no state of the rollout.
        let known =
            status.state ?? (try? other.get())?.state ?? RolloutState(stage: .off, engines: acceptance.between)
        let epoch = max(status.epoch, (try? other.get())?.epoch ?? 0, control.floor) + 1
        if try pair.exists(otherEngine), !acceptance.isContained {
            pair.close(otherEngine)
            let aside = try engines.setAside(pair.address(otherEngine), as: "adopted-\(epoch)")
            lines.append("the \(otherEngine.rawValue) store is \(aside) now")
        }
        let isKilled = known.isKilled || control.isKilled
        // A killed user is at `off`, where the kill leads, so the accepted store is the old one.
        let accepted = isKilled ? EnginePair(old: engine, new: otherEngine) : known.engines
        let stage: Stage = accepted.old == engine ? .off : .complete
        var state = RolloutState(stage: stage, engines: accepted, isKilled: isKilled)
        state.fled = isKilled ? otherEngine : nil
        (state.evidence, state.vouched, state.turns) = (known.evidence, known.vouched, known.turns)
        let change = StageSwitch(pair: pair, control: control, stepLimitSeconds: options.stepLimitSeconds)
        control.adopt(lineage: status.lineage, mark: status.token)
        try change.set(engine, .authoritative, epoch: epoch, state, expecting: status.place)
        let log = EvidenceLog(directory, keys: options.evidenceKeys)
        try log.append([.adopted(engine: engine, epoch: epoch, by: person, because: reason)], at: Date())
        control.noteCopy()
        control.noteSeen(log)
        control.publish(stage, epoch: epoch)
        lines.append(
            "the \(engine.rawValue) store is current from epoch \(epoch) on, at token \(status.token); "
                + "the user is at \(stage.rawValue)"
        )
        return lines
    }

    /// A program that cannot open a store must not decide about it, since it would give up the contents unseen. But no program can open a permanently
    /// damaged file.
    ///
    /// - Throws: ``HabitStoreError/Code/schemaMismatch`` for a version that this program lacks; why a store cannot be opened now.
    private func requireOpenable(_ directory: UserDirectory) throws {
        for engine in engines.names {
            let (engines, plan, address) = (engines, options.migrationPlan, engines.address(engine, of: directory))
            let stored: StoredSchema?
            do {
                stored = try Deadline.run(seconds: options.stepLimitSeconds, path: address.path) { _ in
                    try engines.identity(of: address) == nil
                        ? nil : try engines.storedSchema(of: address, plan: plan)
                }
            } catch let error as HabitStoreError where AuthorityResolution.lastingDamage.contains(error.code) {
                continue
            }
            guard let stored, !knows(stored) else { continue }
            throw HabitStoreError(
                .schemaMismatch,
                "the \(engine.rawValue) store is of a schema that this program does not have (version \(stored.version)): nothing is decided about "
                    + "it here; accept a store with the command of the app that has that version",
                at: .init(path: address.path)
            )
        }
    }

    /// Makes sure that no newer store serves, or would after the next opening, even if only the end of a migration is missing.
    ///
    /// - Parameter isOtherMachineLost: whether what another machine serves may be given up.
    private func requireNothingNewer(
        _ status: ReplicaStatus,
        _ control: ControlFile?,
        _ directory: UserDirectory,
        isOtherMachineLost: Bool
    ) throws {
        let pair = StorePair(
            directory: directory,
            schema: schema,
            access: .readOnly,
            engines: engines,
            versions: .eachAsWritten(options.migrationPlan)
        )
        defer { pair.close() }
        let check = StatusCheck(directory, control)
        let found = pair.statuses(limitSeconds: options.stepLimitSeconds)
        let between = pair.engines(found.statuses, preferring: engines.pair(old: status.engine))
        let serving: ReplicaStatus
        switch AuthorityResolution(found, between, check, isKilled: control?.isKilled == true).answer {
        case .serves(let store), .reopens(let store), .takesOver(let store, _), .finishes(_, let store): serving = store
        case .nobody, .acceptedElsewhere, .refused: return
        }
        guard serving.engine != status.engine else { return }
        if let unfinished = pair.unfinishedMigration(found) {
            throw HabitStoreError(
                .migrationRequired,
                "the \(serving.engine.rawValue) store serves this user: \(unfinished.description); \(unfinished.remedy)",
                at: .init(path: directory.path)
            )
        }
        guard !isOtherMachineLost, !Self.holds(status, allOf: serving, pair),
            // Only damage that reads have run into, or the doctor has found, lets a person give up a store that opens.
            try pair.damage(in: serving.engine) == nil
        else { return }
        let what =
            serving.lineage == status.lineage
            ? "is at token \(serving.token), and the \(status.engine.rawValue) store at \(status.token)"
            : "has another origin than the \(status.engine.rawValue) store"
        throw HabitStoreError(
            .notAuthoritative,
            "the \(serving.engine.rawValue) store is sound, serves this user, and would be given up: it \(what); "
                + "`\(OperatorCommand.name) rollout demote --user U` takes the user back without a loss, and "
                + "`\(OperatorCommand.name) user restore BACKUP` puts a backup in its place",
            at: .init(path: serving.path)
        )
    }

    private func requireNotServingElsewhere(_ engine: EngineName, _ pair: StorePair) throws {
        guard engines.isShared(engine), let there = try? pair.status(engine), there.hasServed,
            there.machine.map(pair.directory.isElsewhere) ?? true
        else { return }
        throw HabitStoreError(
            .notAuthoritative,
            "the \(engine.rawValue) store serves the user wherever it is reached from, and would be set aside: take the user back "
                + "with `\(OperatorCommand.name) rollout demote --user U`; if no other machine uses it any more, say so with "
                + "`--other-machine-is-lost`",
            at: .init(path: there.path)
        )
    }

    /// Whether a following store has nothing that another one lacks.
    private static func isContained(
        _ other: Result<ReplicaStatus?, any Error>,
        in status: ReplicaStatus,
        _ pair: StorePair
    ) -> Bool {
        guard let other = try? other.get(), other.role == .standby else { return false }
        return holds(status, allOf: other, pair)
    }

    /// Whether a store has the complete history of another one.
    private static func holds(_ status: ReplicaStatus, allOf other: ReplicaStatus, _ pair: StorePair) -> Bool {
        guard other.lineage == status.lineage, other.token <= status.token else { return false }
        let agree = try? pair.store(status.engine).replicaRead { a in
            try pair.store(other.engine).replicaRead { try Replication.agree(a, $0, at: other.token) }
        }
        return agree == true
    }
}
