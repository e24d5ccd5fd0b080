import Foundation
@_spi(Engines) import HabitStore
import ShadowVerifier

/// Brings both stores of a user to the last version of a schema, in step. The caller holds the lock of the user's switches.
///
/// The stores are first brought to one token in their old schema. Then each goes through the same stages with the same clock, the authoritative one
/// last, and their digests are compared. A store that cannot be migrated, or has another result, is set aside and never deleted; the mirror then
/// rebuilds it like any missing store. After a kill in between, the authoritative store still has the old version, and the next opening continues.
struct PairMigration: Sendable {
    struct Outcome {
        var from: Schema.Version
        var to: Schema.Version
        var token: HistoryToken
        var notes: [String]
        /// Whether the migration dropped values or records.
        var hasDropped = false
        /// Why the store that does not serve still has the older version.
        var failure: HabitStoreError?

        mutating func note(_ done: MigrationOutcome) {
            notes += done.notes
            if done.steps.contains(where: { !$0.drops.isEmpty }) { hasDropped = true }
        }
    }

    let directory: UserDirectory
    let plan: any SchemaMigrationPlan.Type
    let engines: Engines
    let control: ControlFile
    /// The time limit for one step of a store, counted from its last progress.
    let stepLimitSeconds: Double
    /// The time limit for migrating a following store, counted from its last progress, before the serving one goes first.
    let followerLimitSeconds: Double

    /// - Parameters:
    ///   - wanted: the engines that users come from and go to, for stores that no rollout has touched.
    ///   - isKilled: whether the kill switch is pulled for the user.
    /// - Returns: nil if no store has an older version.
    /// - Throws: errors of the user's current store, and temporary ones. A store older than what was acknowledged is not migrated, and nothing is set
    ///   aside because of it.
    func run(_ wanted: EnginePair, isKilled: Bool) throws -> Outcome? {
        let target = try plan.current().version
        let (versions, failures) = collect()
        guard let from = versions.values.min() else {
            guard let failure = failures[wanted.old] ?? failures[wanted.new] else { return nil }
            throw failure
        }
        guard from < target else { return nil }
        var outcome = Outcome(from: from, to: target, token: .zero, notes: [])
        if let schema = plan.schema(of: from), versions.values.allSatisfy({ $0 == from }) {
            guard let user = try recover(schema, wanted, isKilled, failures, &outcome) else { return nil }
            try migrate(user, &outcome)
            return outcome
        }
        guard let (serving, other) = try serving(versions, wanted, isKilled) else { return nil }
        if versions[serving.engine] == target {
            return try bringAlong(other, beside: serving, limitSeconds: followerLimitSeconds)
        }
        // A process was killed between the two stores.
        try migrate(User(authority: serving.engine, other: other, follows: versions[other] != nil), &outcome)
        return outcome
    }

    /// Migrates a store that does not serve to the version of the serving store. If it can no longer share the other's history, the next copy
    /// rebuilds it.
    ///
    /// - Returns: nil if there is nothing to do.
    /// - Throws: why it cannot be migrated now.
    func bringAlong(_ engine: EngineName, beside actual: ActualStage) throws -> Outcome? {
        let pair = StorePair(directory: directory, schema: try plan.current(), access: .readOnly, engines: engines)
        defer { pair.close() }
        guard let serving = try pair.status(actual.engine) else { return nil }
        let outcome = try bringAlong(engine, beside: serving, limitSeconds: nil)
        if let failure = outcome?.failure { throw failure }
        return outcome
    }

    /// - Parameter limitSeconds: how long it may take without progress; nil for no limit.
    private func bringAlong(_ engine: EngineName, beside serving: ReplicaStatus, limitSeconds: Double?) throws
        -> Outcome?
    {
        let target = try plan.current().version
        let (current, behind) = (engines.address(serving.engine, of: directory), engines.address(engine, of: directory))
        let version = try limited(current) { _ in try migrator(current).version() }
        let from = try limited(behind) { _ in try migrator(behind).version() }
        guard version == target, from < target else { return nil }
        var outcome = Outcome(from: from, to: target, token: serving.token, notes: [])
        do {
            let clock = try limited(behind) { _ in try timestamp(current, behind) }
            outcome.note(try migrate(behind, clock, limitSeconds: limitSeconds))
            outcome.notes.append("the \(engine.rawValue) store was of an older version than the one that serves")
        } catch let error as HabitStoreError {
            outcome.failure = error
            outcome.notes.append("the \(engine.rawValue) store is migrated later: \(error.description)")
            return outcome
        }
        guard let reason = try objection(current, behind) else { return outcome }
        try setAside(engine, target, reason, &outcome)
        if serving.state?.stage.awaitsMirror == true { try refill(current, behind) }
        return outcome
    }

    /// Why a migrated store cannot follow the serving one; nil if it can, or has transactions that the other lacks: those are carried over.
    private func objection(_ current: StoreAddress, _ other: StoreAddress) throws -> String? {
        let schema = try plan.current()
        let (a, b) = (
            try engines.open(current, .readOnly, schema: schema), try engines.open(other, .readOnly, schema: schema)
        )
        defer {
            a.close()
            b.close()
        }
        return try a.replicaRead { a in
            try b.replicaRead { b in
                let (here, there) = (try a.information(), try b.information())
                guard here.lineage == there.lineage, there.role != .backfilling else { return nil }
                guard try Replication.agree(a, b, at: min(here.token, there.token)) else {
                    return "its history has diverged"
                }
                guard there.token > here.token else { return nil }
                var isMigratedOnly = true
                try b.enumerateHistory(after: here.token) { transaction in
                    isMigratedOnly = transaction.isMigration
                    return isMigratedOnly
                }
                return isMigratedOnly ? "the migration stages made a different history there" : nil
            }
        }
    }

    /// The serving store where versions differ, by the rule of an opening, each store read with its own schema; and the other store of the user's
    /// rollout.
    ///
    /// - Throws: why none serves: a store restored from a copy may also have an older schema.
    private func serving(
        _ versions: [EngineName: Schema.Version],
        _ wanted: EnginePair,
        _ isKilled: Bool
    ) throws -> (serving: ReplicaStatus, other: EngineName)? {
        let pair = StorePair(
            directory: directory,
            schema: try plan.current(),
            access: .readOnly,
            engines: engines,
            versions: .eachAsWritten(plan)
        )
        defer { pair.close() }
        let check = StatusCheck(directory, control)
        let found = pair.statuses(limitSeconds: stepLimitSeconds)
        let between = pair.engines(found.statuses, preferring: wanted)
        switch AuthorityResolution(found, between, check, isKilled: isKilled).answer {
        case .nobody: return nil
        case .serves(let status), .reopens(let status), .takesOver(let status, _), .finishes(_, let status):
            return (status, between.other(than: status.engine))
        case .acceptedElsewhere(let status, let left): throw StatusCheck.objection(toLeaving: left, for: status)
        case .refused(let error): throw error
        }
    }

    /// The versions of the user's stores, and the errors of those without one. Does not wait for a store that hangs.
    private func collect() -> (versions: [EngineName: Schema.Version], failures: [EngineName: any Error]) {
        var versions: [EngineName: Schema.Version] = [:]
        var failures: [EngineName: any Error] = [:]
        for engine in engines.names {
            let address = engines.address(engine, of: directory)
            do {
                versions[engine] = try limited(address) { _ in
                    try engines.identity(of: address) == nil ? nil : try migrator(address).version()
                }
            } catch {
                failures[engine] = error
            }
        }
        return (versions, failures)
    }

    /// A user's stores, brought to one token in their old schema where both can be reached.
    private struct User {
        var authority: EngineName
        var other: EngineName
        /// Whether to migrate the other store in step.
        var follows = true
        /// Whether to rebuild the other store.
        var refills = false
    }

    /// Finishes what was begun in the old schema, and brings both stores to one token. If the other store does not answer and no acknowledged write
    /// depends on it, the serving store is migrated alone.
    ///
    /// - Returns: nil without a store.
    private func recover(
        _ schema: Schema,
        _ wanted: EnginePair,
        _ isKilled: Bool,
        _ failures: [EngineName: any Error],
        _ outcome: inout Outcome
    ) throws -> User? {
        let pair = StorePair(directory: directory, schema: schema, engines: engines)
        defer { pair.close() }
        let change = StageSwitch(pair: pair, control: control, stepLimitSeconds: stepLimitSeconds)
        guard let actual = try change.recover(wanted, isKilled: isKilled) else { return nil }
        var user = User(authority: actual.engine, other: actual.other)
        do {
            let unseen = failures[user.other] as? HabitStoreError
            if let unseen, isPassing(unseen) { throw unseen }
            if try pair.exists(user.other) {
                try change.drain(user.authority, into: user.other)
            } else {
                user.follows = false
            }
            return user
        } catch let error as HabitStoreError where isLost(user.authority, error) {
            // A store with more transactions is never set aside.
            if let ahead = try? pair.status(user.other), ahead.token > actual.token { return user }
            pair.close(user.other)
            try setAside(user.other, outcome.from, error.description, &outcome)
            (user.follows, user.refills) = (false, actual.state.stage.mirror != nil)
        } catch let error as HabitStoreError where isPassing(error) && !actual.state.stage.awaitsMirror {
            user.follows = false
            outcome.notes.append("the \(user.other.rawValue) store is migrated later: \(error.description)")
        }
        return user
    }

    /// Whether a store can never be brought to the current one's token, for a reason that is not the current one's.
    private func isLost(_ authority: EngineName, _ error: HabitStoreError) -> Bool {
        switch error.code {
        case .historyExpired: true
        case .corrupt, .notAStore, .unsupported: error.location.path != engines.address(authority, of: directory).path
        default: false
        }
    }

    private func migrate(_ user: User, _ outcome: inout Outcome) throws {
        let current = engines.address(user.authority, of: directory)
        let other = engines.address(user.other, of: directory)
        var (hasOther, clock) = (user.follows, Date())
        if hasOther {
            do {
                clock = try limited(other) { _ in try timestamp(other, current) }
                _ = try migrate(other, clock, limitSeconds: followerLimitSeconds)
            } catch let error as HabitStoreError where isPassing(error) {
                // It is migrated later; users do not wait for a store that does not serve.
                hasOther = false
                outcome.notes.append("the \(user.other.rawValue) store is migrated later: \(error.description)")
            }
        }
        outcome.note(try migrate(current, clock, limitSeconds: nil))
        outcome.token = try token(current)
        if hasOther {
            // A store with more transactions is never set aside: they are carried over, or it serves.
            let isAhead = try token(other) > outcome.token
            guard let reason = try isAhead ? objection(current, other) : difference(current, other) else { return }
            try setAside(user.other, outcome.to, reason, &outcome)
        }
        if hasOther || user.refills { try refill(current, other) }
    }

    /// Whether the error that keeps a store from being migrated is temporary.
    private func isPassing(_ error: HabitStoreError) -> Bool { Self.passing.contains(error.code) }

    private static let passing: Set<HabitStoreError.Code> = [
        .busy, .permissionDenied, .inputOutput, .limitExceeded, .engineUnavailable,
    ]

    private func migrator(_ address: StoreAddress, now clock: Date = Date()) -> StoreMigrator {
        StoreMigrator(address, engines: engines, plan: plan, now: { clock })
    }

    /// Migrates a store by the plan.
    ///
    /// - Parameter limitSeconds: how long it may take without progress; nil for no limit. After the limit, the abandoned thread may still migrate the
    ///   store.
    private func migrate(_ address: StoreAddress, _ clock: Date, limitSeconds: Double?) throws -> MigrationOutcome {
        guard let limitSeconds else { return try migrator(address, now: clock).run() }
        return try Deadline.run(seconds: limitSeconds, path: address.path) { progress in
            try migrator(address, now: clock).run { _ in progress.advance() }
        }
    }

    /// Reads a store that may hang.
    private func limited<R: Sendable>(
        _ address: StoreAddress,
        _ body: @escaping @Sendable (Deadline.Progress) throws -> R
    ) throws -> R {
        try Deadline.run(seconds: stepLimitSeconds, path: address.path, body)
    }

    /// The timestamp of a store's migration, if that store was migrated before the next one; otherwise now. It gives both the same history.
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
                stamp = transaction.isMigration ? transaction.timestamp : nil
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

    /// A difference between the stores; nil if they are equal.
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
            .init(name: "\(current.engine.rawValue) (current)", store: a),
            .init(name: "\(other.engine.rawValue) (other)", store: b),
            options: options
        )
        .run()
        guard report.verdict != .match else {
            let token = try a.currentToken()
            let agree = try a.replicaRead { a in try b.replicaRead { try Replication.agree(a, $0, at: token) } }
            return agree ? nil : "the migration stages made a different history there"
        }
        return report.reason ?? report.differences.first?.message ?? "the migration stages made other contents there"
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

    /// Rebuilds the other store, since some stages acknowledge nothing without it.
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
    /// The dropped data, and the paths of the copies from before the migration.
    fileprivate var notes: [String] {
        steps.flatMap(\.drops).map { "the migration dropped \($0)" }
            + backups.map { "the store from before the migration is \($0)" }
    }
}

extension SchemaMigrationPlan {
    /// The schema of one of the plan's versions, for stores that are still to be migrated.
    static func schema(of version: Schema.Version) -> Schema? {
        schemas.first { $0.versionIdentifier == version }?.earlierSchema
    }
}

/// Opens two stores to compare them, even if they have different schema versions.
///
/// If versions differ, a store that does not have the plan's last version is copied, and the copy is migrated. What the stages' hooks change is
/// stamped as in the other store, if that was migrated the same way.
public struct VersionComparison {
    /// One of the two stores.
    public struct Side {
        /// The store, or the copy.
        public let store: any UserStoreBackend
        /// The version of the store before its copy was migrated; nil if it is the store itself.
        public let version: Schema.Version?
    }

    private let engines: Engines
    private let schema: Schema
    private let plan: (any SchemaMigrationPlan.Type)?
    private let directory: String

    /// - Parameters:
    ///   - schema: the app's schema.
    ///   - plan: what stores of older versions go through; nil to compare them unchanged.
    ///   - directory: where copies are made, which are removed again.
    public init(
        _ engines: Engines,
        schema: Schema,
        plan: (any SchemaMigrationPlan.Type)?,
        directory: String
    ) {
        (self.engines, self.schema, self.plan, self.directory) = (engines, schema, plan, directory)
    }

    /// Runs `body` with both stores.
    ///
    /// - Throws: errors of a store, and errors of the stages.
    public func run<R>(_ a: StoreAddress, _ b: StoreAddress, _ body: (Side, Side) throws -> R) throws -> R {
        let (left, right) = (try engines.outline(a), try engines.outline(b))
        let isAlike = left.version == right.version
        return try open(a, left, asWritten: isAlike, like: b) { a in
            try open(b, right, asWritten: isAlike, like: a.address) { b in try body(a.side, b.side) }
        }
    }

    private struct Opened {
        let side: Side
        let address: StoreAddress
    }

    private func open<R>(
        _ address: StoreAddress,
        _ outline: StoreOutline,
        asWritten: Bool,
        like other: StoreAddress,
        _ body: (Opened) throws -> R
    ) throws -> R {
        guard !asWritten, let plan, outline.version != (try plan.current().version) else {
            let store = try engines.openAsWritten(address, .readOnly, schema: schema, plan: plan)
            defer { store.close() }
            return try body(Opened(side: Side(store: store, version: nil), address: address))
        }
        return try ScratchFolder.with(in: directory, for: "comparison") { folder in
            let copy = engines.address(ofCopy: "comparison-\(UUID().uuidString)", of: address, inFolder: folder)
            let clock = try timestamp(behind: outline.information.token, in: other)
            let migrator = StoreMigrator(copy, engines: engines, plan: plan, now: { clock })
            var copies = [copy.path]
            defer { try? migrator.discard(copies) }
            let source = try engines.openAsWritten(address, .readOnly, schema: schema, plan: plan)
            defer { source.close() }
            try source.backup(to: copy.path)
            copies += try migrator.run().backups
            let store = try engines.open(copy, .readOnly, schema: try plan.current())
            defer { store.close() }
            return try body(Opened(side: Side(store: store, version: outline.version), address: copy))
        }
    }

    /// The time of the other store's transaction after a token; now if it has none.
    private func timestamp(behind token: HistoryToken, in other: StoreAddress) throws -> Date {
        let store = try engines.openAsWritten(other, .readOnly, schema: schema, plan: plan)
        defer { store.close() }
        let next = HistoryToken(rawValue: token.rawValue + 1)
        return try store.replicaRead { try Replication.transaction($0, next) }?.timestamp ?? Date()
    }
}
