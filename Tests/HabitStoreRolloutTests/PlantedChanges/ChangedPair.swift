import Foundation
@_spi(Engines) import HabitStore
import HabitStoreTesting
import HabitTracker
import RawStoreFiles
import ShadowVerifier
import StandardEngines
import Synchronization

@testable import HabitStoreRollout

/// Two equal stores, one on each engine, in a separate folder; a copy of a pair that is made once.
struct ChangedPair: Sendable {
    private static let templates = Mutex<[Bool: ChangedPair]>([:])

    let folder: TemporaryFolder

    /// - Parameter isWide: whether there are 1,500 more drafts.
    init(isWide: Bool = false) throws {
        let template = try Self.templates.withLock { templates in
            if let made = templates[isWide] { return made }
            let made = try Self(filledWith: isWide ? 1_500 : 0)
            templates[isWide] = made
            return made
        }
        folder = try TemporaryFolder()
        for engine in EngineName.standard {
            try FileManager.default.copyItem(atPath: template.path(engine), toPath: path(engine))
        }
    }

    private init(filledWith drafts: Int) throws {
        folder = try TemporaryFolder()
        let source = try address(.sqlite).open(.create, schema: HabitSchema.current)
        let copy = try address(.lmdb).open(.create, schema: HabitSchema.current)
        defer {
            source.close()
            copy.close()
        }
        try ChangedContents.write(to: source)
        try source.insert((0..<drafts).map { Draft(content: "\($0)", creationDate: ChangedContents.date(Double($0))) })
        try source.pruneHistory(through: HistoryToken(rawValue: Int64(ChangedContents.Token.pruned)))
        try source.copyContents(to: copy)
    }

    func path(_ engine: EngineName) -> String { folder.path("store.\(engine.rawValue)") }

    func address(_ engine: EngineName) -> StoreAddress { StoreAddress(engine, path: path(engine)) }

    func planter(_ engine: EngineName) -> any FaultPlanter { address(engine).planter }

    // MARK: Changing

    /// Opens the SQLite file as any other program may.
    func withDatabase(_ body: (RawDatabase) throws -> Void) throws {
        let database = try RawDatabase(path: path(.sqlite))
        defer { database.close() }
        try database.execute("PRAGMA synchronous = OFF")
        try body(database)
    }

    func run(_ sql: String) throws { try withDatabase { try $0.execute(sql) } }

    /// Changes the LMDB file in one liblmdb transaction.
    func write(_ body: (RawTransaction) throws -> Void) throws {
        let environment = try RawEnvironment(path: path(.lmdb), isDurable: false)
        defer { environment.close() }
        try environment.write(body)
    }

    /// Plants a change, and rebuilds the digests if it says so.
    func plant(_ change: PlantedChange) throws {
        try change.plant(self)
        guard change.hasFittingDigests, let engine = change.engine else { return }
        let store = try address(engine).open(.readWrite, schema: HabitSchema.current)
        defer { store.close() }
        try store.rebuildDigests()
    }

    // MARK: Judging

    /// The outcome of examining the stores. Anything else than a store error or a judgement fails the test.
    enum Judgement: Equatable {
        case match, difference, refusal(HabitStoreError.Code)
    }

    /// The finding of `habitstore verify`.
    func verification(_ depth: VerificationDepth) throws -> Judgement {
        try judgement {
            let comparison = VersionComparison(
                .standard,
                schema: HabitSchema.current,
                plan: HabitMigrationPlan.self,
                directory: folder.path
            )
            let report = try comparison.run(address(.sqlite), address(.lmdb)) { left, right in
                var options = VerificationOptions()
                options.depth = depth
                // No process is writing, so there is no common token to wait for.
                options.tokenTries = 1
                let sides = [left, right].map { ShadowVerifier.Side(name: "a store", store: $0.store) }
                return try ShadowVerifier(sides[0], sides[1], options: options).run()
            }
            return report.verdict == .match ? .match : .difference
        }
    }

    /// The finding of `habitstore check` in one of them.
    func check(_ engine: EngineName) throws -> Judgement {
        try judgement {
            let store = try address(engine).openAsWritten(
                .readOnly,
                schema: HabitSchema.current,
                plan: HabitMigrationPlan.self
            )
            defer { store.close() }
            var findings = try store.check { _ in }
            if !findings.contains(where: { $0.severity == .damage }) { findings += try store.checkDigests() }
            return findings.contains { $0.severity == .damage } ? .difference : .match
        }
    }

    private func judgement(_ body: () throws -> Judgement) throws -> Judgement {
        do { return try body() } catch let error as HabitStoreError { return .refusal(error.code) }
    }
}
