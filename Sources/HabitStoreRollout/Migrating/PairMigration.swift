import Foundation
@_spi(Engines) import HabitStore
import ShadowVerifier

/// Brings both stores of a user to the last version of a schema, in step. The caller holds the lock of the user's switches.
///
/// The stores are first brought to one token in their old shape, each is then taken through the same stages with the same
/// clock, the authoritative one last, and both are compared by their digests. A store that cannot be brought along, or comes
/// out otherwise, is set aside and never deleted: the mirror then makes it anew, as any that is missing. Killed in between,
/// the authoritative store is still of the old version, and the next opening goes on.
struct PairMigration {
    /// What was done.
    struct Outcome {
        var from: Schema.Version
        var to: Schema.Version
        var token: HistoryToken
        var notes: [String]
        /// Whether values or records went with it.
        var hasDropped = false

        mutating func note(_ done: MigrationOutcome) {
            notes += done.notes
            if done.steps.contains(where: { !$0.drops.isEmpty }) { hasDropped = true }
        }
    }

    let directory: UserDirectory
    let plan: any SchemaMigrationPlan.Type
    let engines: Engines
    let control: ControlFile
    let stepLimitSeconds: Double

    /// - Parameters:
    ///   - wanted: the engines that users come from and go to, for stores that no rollout has touched.
    ///   - isKilled: whether the kill switch is pulled for the user.
    /// - Returns: nil when no store is of an older version.
    /// - Throws: what is wrong with the user's current store, and whatever may pass by itself. A store that is not what the
    ///   user has come to is not migrated, nor is anything set aside for it.
    func run(_ wanted: EnginePair, isKilled: Bool) throws -> Outcome? {
        let target = try plan.current().version
        let (versions, failures) = look()
        guard let from = versions.values.min() else {
            guard let failure = failures[wanted.old] ?? failures[wanted.new] else { return nil }
            throw failure
        }
        guard from < target else { return nil }
        var outcome = Outcome(from: from, to: target, token: .zero, notes: [])
        if let schema = plan.schema(of: from), versions.values.allSatisfy({ $0 == from }) {
            guard let (authority, other, refills) = try settle(schema, wanted, isKilled, &outcome) else { return nil }
            try migrate(authority, other, refills: refills, &outcome)
            return outcome
        }
        guard let (serving, other) = try serving(versions, wanted, isKilled) else { return nil }
        if versions[serving] == target {
            // What becomes of it then is decided as of any store that lags behind.
            let (current, behind) = (engines.address(serving, of: directory), engines.address(other, of: directory))
            outcome.token = try token(current)
            guard try engines.identity(of: behind) != nil, versions[other] != target else { return nil }
            do {
                let done = try migrator(behind, now: try timestamp(current, behind)).run()
                outcome.note(done)
                outcome.notes.append("the \(other.rawValue) store was of an older version than the one that serves")
            } catch let error as HabitStoreError {
                // It keeps nobody from the one that serves.
                outcome.notes.append("the \(other.rawValue) store is migrated later: \(error.description)")
            }
        } else {
            // A process was killed between the two.
            try migrate(serving, other, refills: false, &outcome)
        }
        return outcome
    }

    /// Which store serves where they are of different versions; nil where they are not, or nobody is served.
    ///
    /// - Throws: as ``run(_:isKilled:)`` does.
    func serving(_ wanted: EnginePair, isKilled: Bool) throws -> EngineName? {
        let (versions, _) = look()
        return Set(versions.values).count > 1 ? try serving(versions, wanted, isKilled)?.serving : nil
    }

    /// Which store serves where they are of different versions, by the one rule, each read in its own shape; and which is the other
    /// one of the user's rollout.
    ///
    /// - Throws: why none does: one that was put back from a copy is older in its schema, too.
    private func serving(
        _ versions: [EngineName: Schema.Version],
        _ wanted: EnginePair,
        _ isKilled: Bool
    ) throws -> (serving: EngineName, other: EngineName)? {
        let pair = StorePair(directory: directory, schema: try plan.current(), access: .readOnly, engines: engines)
        defer { pair.close() }
        let witness = StoreWitness(directory, control)
        let known = versions.compactMapValues { plan.schema(of: $0) }
        let oldest = try versions.min { $0.value < $1.value }
            .flatMap { try standing($0.key, known[$0.key], since: nil, pair) }
        var found = StandingsFound()
        for engine in engines.names where pair.mayExist(engine) {
            found.note(engine, Result { try standing(engine, known[engine], since: oldest?.token, pair) }, pair)
        }
        let between = pair.engines(found.standings, preferring: wanted)
        switch Whereabouts(found, between, witness, isKilled: isKilled).answer {
        case .nobody: return nil
        case .serves(let standing), .reopens(let standing), .takesOver(let standing, _), .finishes(_, let standing):
            return (standing.engine, between.other(than: standing.engine))
        case .acceptedElsewhere(let standing, let left): throw StoreWitness.objection(toLeaving: left, for: standing)
        case .refused(let error): throw error
        }
    }

    /// What a store says of itself.
    ///
    /// - Parameters:
    ///   - schema: that of its records; nil where it cannot be read.
    ///   - token: where the store is that was not migrated yet. One that is ahead of it by a migration alone is not ahead.
    private func standing(
        _ engine: EngineName,
        _ schema: Schema?,
        since token: HistoryToken?,
        _ pair: StorePair
    ) throws -> Standing {
        let store = try engines.open(
            engines.address(engine, of: directory),
            .readOnly,
            schema: try schema ?? plan.current()
        )
        defer { store.close() }
        return try store.replicaRead { replica in
            let standing = try pair.standing(engine, replica)
            guard let token, standing.token > token, standing.information.historyFloor <= token else { return standing }
            var isMigratedOnly = true
            try replica.enumerateHistory(after: token) { transaction in
                isMigratedOnly = transaction.isMigration(of: plan)
                return isMigratedOnly
            }
            return isMigratedOnly ? standing.before(token) : standing
        }
    }

    /// The versions of the user's stores, and why one of them has none.
    private func look() -> (versions: [EngineName: Schema.Version], failures: [EngineName: any Error]) {
        var versions: [EngineName: Schema.Version] = [:]
        var failures: [EngineName: any Error] = [:]
        for engine in engines.names {
            let address = engines.address(engine, of: directory)
            do {
                guard try engines.identity(of: address) != nil else { continue }
                versions[engine] = try migrator(address).version()
            } catch {
                failures[engine] = error
            }
        }
        return (versions, failures)
    }

    /// Finishes what was begun in the old shape, and brings both stores to one token.
    ///
    /// - Returns: the engine that is authoritative, the other one, and whether that has to be made anew; nil without a store.
    private func settle(
        _ schema: Schema,
        _ wanted: EnginePair,
        _ isKilled: Bool,
        _ outcome: inout Outcome
    ) throws -> (authority: EngineName, other: EngineName, refills: Bool)? {
        let pair = StorePair(directory: directory, schema: schema, engines: engines)
        defer { pair.close() }
        let change = StageSwitch(pair: pair, control: control, stepLimitSeconds: stepLimitSeconds)
        guard let actual = try change.settle(wanted, isKilled: isKilled) else { return nil }
        let (authority, other) = (actual.engine, actual.other)
        guard try pair.exists(other) else { return (authority, other, false) }
        do {
            try change.drain(authority, into: other)
            return (authority, other, false)
        } catch let error as HabitStoreError where isLost(authority, error) {
            // One that holds more is never set aside.
            if let ahead = try? pair.standing(other), ahead.token > actual.token { return (authority, other, false) }
            pair.close(other)
            try setAside(other, outcome.from, error.description, &outcome)
            return (authority, other, actual.state.stage.mirror != nil)
        }
    }

    /// Whether a store that cannot be brought to the current one's token never will be, and not for the current one's sake.
    private func isLost(_ authority: EngineName, _ error: HabitStoreError) -> Bool {
        switch error.code {
        case .historyExpired: true
        case .corrupt, .notAStore, .unsupported: error.location.path != engines.address(authority, of: directory).path
        default: false
        }
    }

    private func migrate(
        _ authority: EngineName,
        _ otherEngine: EngineName,
        refills: Bool,
        _ outcome: inout Outcome
    ) throws {
        let current = engines.address(authority, of: directory)
        let other = engines.address(otherEngine, of: directory)
        let clock = try timestamp(other, current)
        var hasOther = try engines.identity(of: other) != nil
        if hasOther {
            do {
                _ = try migrator(other, now: clock).run()
            } catch let error as HabitStoreError where Self.passing.contains(error.code) {
                // It is brought along when it can be; nobody waits for a store that does not serve.
                hasOther = false
                outcome.notes.append("the \(otherEngine.rawValue) store is migrated later: \(error.description)")
            }
        }
        let done = try migrator(current, now: clock).run()
        outcome.note(done)
        outcome.token = try token(current)
        // One that holds more is never set aside: what it holds is carried over, or it serves.
        if hasOther, try token(other) > outcome.token { return }
        if hasOther {
            guard let difference = try difference(current, other) else { return }
            try setAside(otherEngine, outcome.to, difference, &outcome)
        }
        if hasOther || refills { try refill(current, other) }
    }

    /// What keeps a store from being migrated for a moment.
    private static let passing: Set<HabitStoreError.Code> = [
        .busy, .permissionDenied, .inputOutput, .limitExceeded, .engineUnavailable,
    ]

    private func migrator(_ address: StoreAddress, now clock: Date = Date()) -> StoreMigrator {
        StoreMigrator(address, engines: engines, plan: plan, now: { clock })
    }

    /// What the migration of a store was stamped with, if it was migrated before the one that is about to be; else now. Both come
    /// to the same history by it.
    private func timestamp(_ migrated: StoreAddress, _ next: StoreAddress) throws -> Date {
        guard try engines.identity(of: migrated) != nil, try migrator(migrated).version() == plan.current().version,
            let schema = plan.schema(of: try migrator(next).version())
        else { return Date() }
        let before = try engines.open(next, .readOnly, schema: schema)
        defer { before.close() }
        let token = try before.replicaRead { try $0.information().token }
        let store = try engines.open(migrated, .readOnly, schema: try plan.current())
        defer { store.close() }
        return try store.replicaRead { replica in
            guard try replica.information().historyFloor <= token else { return Date() }
            var stamp: Date?
            try replica.enumerateHistory(after: token) { transaction in
                stamp = transaction.isMigration(of: plan) ? transaction.timestamp : nil
                return false
            }
            return stamp ?? Date()
        }
    }

    private func token(_ address: StoreAddress) throws -> HistoryToken {
        let store = try engines.open(address, .readOnly, schema: try plan.current())
        defer { store.close() }
        return try store.replicaRead { try $0.information().token }
    }

    /// In what the stores differ; nil when they do not.
    private func difference(_ current: StoreAddress, _ other: StoreAddress) throws -> String? {
        let schema = try plan.current()
        let (a, b) = (
            try engines.open(current, .readOnly, schema: schema), try engines.open(other, .readOnly, schema: schema)
        )
        defer {
            a.close()
            b.close()
        }
        var options = VerificationOptions()
        options.depth = .keptDigests
        let report = try ShadowVerifier(
            .init(name: "current", store: a),
            .init(name: "other", store: b),
            options: options
        )
        .run()
        guard report.verdict != .match else {
            let token = try a.currentToken()
            let agree = try a.replicaRead { a in try b.replicaRead { try Replication.agree(a, $0, at: token) } }
            return agree ? nil : "the stages came to another history there"
        }
        return report.reason ?? report.differences.first?.message ?? "the stages came to something else there"
    }

    private func setAside(
        _ engine: EngineName,
        _ version: Schema.Version,
        _ reason: String,
        _ outcome: inout Outcome
    ) throws {
        let aside = try engines.setAside(engines.address(engine, of: directory), as: "\(version)-aside")
        outcome.notes.append(
            "the \(engine.rawValue) store could not be migrated in step (\(reason)); it is \(aside) now"
        )
    }

    /// Makes the other store anew, since nothing can be acknowledged without it at some stages.
    private func refill(_ current: StoreAddress, _ other: StoreAddress) throws {
        let schema = try plan.current()
        let source = try engines.open(current, .readOnly, schema: schema)
        defer { source.close() }
        let target = try engines.open(other, .create, schema: schema)
        defer { target.close() }
        _ = try Backfill(from: source, to: target).run()
    }
}

extension MigrationOutcome {
    /// What went, and where the store is as it was.
    fileprivate var notes: [String] {
        steps.flatMap(\.drops).map { "the migration dropped \($0)" }
            + backups.map { "the store as it was before the migration is \($0)" }
    }
}

extension SchemaMigrationPlan {
    /// The schema of one of the plan's versions.
    fileprivate static func schema(of version: Schema.Version) -> Schema? {
        schemas.first { $0.versionIdentifier == version }?.earlierSchema
    }
}
