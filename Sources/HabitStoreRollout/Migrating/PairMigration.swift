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
    }

    let directory: UserDirectory
    let plan: any SchemaMigrationPlan.Type
    let engines: Engines
    let control: ControlFile
    let stepLimitSeconds: Double

    /// - Parameter wanted: the engines that users come from and go to, for stores that no rollout has touched.
    /// - Returns: nil when no store is of an older version.
    /// - Throws: what is wrong with the user's current store, and whatever may pass by itself.
    func run(_ wanted: EnginePair) throws -> Outcome? {
        let target = try plan.current().version
        let (versions, failures) = look()
        guard let from = versions.values.min() else {
            guard let failure = failures[wanted.old] ?? failures[wanted.new] else { return nil }
            throw failure
        }
        guard from < target else { return nil }
        var outcome = Outcome(from: from, to: target, token: .zero, notes: [])
        var (authority, other, refills) = (wanted.old, wanted.new, false)
        // One of both is of the new version already where a process was killed between them.
        if let schema = plan.schema(of: from), versions.values.allSatisfy({ $0 == from }) {
            guard let settled = try settle(schema, wanted, &outcome) else { return nil }
            (authority, other, refills) = settled
        } else {
            authority = versions.first { $0.value == from }?.key ?? wanted.old
            other = versions.first { $0.key != authority }?.key ?? wanted.other(than: authority)
        }
        try migrate(authority, other, refills: refills, &outcome)
        return outcome
    }

    /// The versions of the user's stores, and why one of them has none.
    private func look() -> (versions: [EngineName: Schema.Version], failures: [EngineName: any Error]) {
        var versions: [EngineName: Schema.Version] = [:]
        var failures: [EngineName: any Error] = [:]
        for engine in engines.names {
            let address = engines.address(engine, of: directory)
            guard engines.identity(of: address) != nil else { continue }
            do {
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
        _ outcome: inout Outcome
    ) throws -> (authority: EngineName, other: EngineName, refills: Bool)? {
        let pair = StorePair(directory: directory, schema: schema, engines: engines)
        defer { pair.close() }
        let change = StageSwitch(pair: pair, control: control, stepLimitSeconds: stepLimitSeconds)
        guard let actual = try change.settle(wanted) else { return nil }
        let (authority, other) = (actual.engine, actual.other)
        guard pair.exists(other) else { return (authority, other, false) }
        do {
            try change.drain(authority, into: other)
            return (authority, other, false)
        } catch let error as HabitStoreError where isLost(authority, error) {
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
        let clock = try timestamp(other)
        let hasOther = engines.identity(of: other) != nil
        if hasOther { _ = try migrator(other, now: clock).run() }
        let done = try migrator(current, now: clock).run()
        outcome.notes += done.backups.map { "the store as it was before the migration is \($0)" }
        outcome.token = try token(current)
        if hasOther {
            guard let difference = try difference(current, other) else { return }
            try setAside(otherEngine, outcome.to, difference, &outcome)
        }
        if hasOther || refills { try refill(current, other) }
    }

    private func migrator(_ address: StoreAddress, now clock: Date = Date()) -> StoreMigrator {
        StoreMigrator(address, engines: engines, plan: plan, now: { clock })
    }

    /// What the other store was stamped with, if it was migrated before; else now.
    private func timestamp(_ other: StoreAddress) throws -> Date {
        guard engines.identity(of: other) != nil, try migrator(other).version() == plan.current().version
        else { return Date() }
        let store = try engines.open(other, .readOnly, schema: try plan.current())
        defer { store.close() }
        let last = try store.replicaRead { try Replication.transaction($0, $0.information().token) }
        return last?.timestamp ?? Date()
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

extension SchemaMigrationPlan {
    /// The schema of one of the plan's versions.
    fileprivate static func schema(of version: Schema.Version) -> Schema? {
        schemas.first { $0.versionIdentifier == version }?.schema
    }
}
