import Foundation
@_spi(Engines) import HabitStore
import HabitStoreRollout
import HabitStoreTesting
import HabitTracker
import Logging
import ShadowVerifier
import Synchronization

/// A user whom a test moves between stages, with a gate policy that asks for little evidence.
package struct StagedUser: Sendable {
    /// The folder with all of the user's files.
    package let folder: TemporaryFolder
    /// The folder of all users' stores.
    package let root: String
    /// The flag file.
    package let flags: String
    /// The engine that the user leaves.
    package let old: EngineName
    /// The engine that the user moves to.
    package let new: EngineName
    /// All engines.
    package let engines: Engines

    /// Creates a user without stores; the flag file wants `off`.
    package init(_ pair: EnginePair, _ engines: Engines) throws {
        folder = try TemporaryFolder()
        root = folder.path("root")
        flags = folder.path("flags.json")
        (old, new) = (pair.old, pair.new)
        self.engines = engines
        try want("off")
    }

    /// Makes the flag file want a stage for all users.
    ///
    /// - Parameter pair: the engines in the file; nil for the user's.
    package func want(_ stage: String, of pair: EnginePair? = nil, kill: Bool = false) throws {
        let pair = pair ?? EnginePair(old: old, new: new)
        let known = engines.names.map { #""\#($0)": "\#($0)""# }.joined(separator: ", ")
        let names = Stage.allCases.map { "\"\($0.rawValue)\": \"\($0.rawValue)\"" }.joined(separator: ", ")
        let engines = #""variants": {\#(known)}"#
        try Data(
            """
            {"flags": {
              "habit-store-stage": {"state": "ENABLED", "variants": {\(names)}, "defaultVariant": "\(stage)"},
              "habit-store-old": {"state": "ENABLED", \(engines), "defaultVariant": "\(pair.old)"},
              "habit-store-new": {"state": "ENABLED", \(engines), "defaultVariant": "\(pair.new)"},
              "habit-store-kill": {
                "state": "ENABLED", "variants": {"armed": false, "killed": true},
                "defaultVariant": "\(kill ? "killed" : "armed")"
              }
            }}
            """.utf8
        ).write(to: URL(fileURLWithPath: flags))
    }

    /// Opens the stores as a process would.
    ///
    /// - Parameter flags: the origin of the flags; nil for the flag file.
    package func stores(
        schema: Schema = HabitSchema.current,
        flags origin: FlagOrigin? = nil,
        _ change: (inout RolloutOptions) -> Void = { _ in }
    ) throws -> UserStores {
        var options = RolloutOptions.staged
        change(&options)
        return try UserStores(
            root: root,
            flags: origin ?? .file(flags),
            engines: engines,
            schema: schema,
            options: options
        )
    }

    /// Opens the user as a process does, runs `body`, and closes the user.
    @discardableResult
    package func with<R>(_ body: (UserStore) throws -> R) throws -> R { try stores().with("alice", body) }

    package var directory: UserDirectory { get throws { try UserDirectory(root: root, user: "alice") } }

    /// The address of one of the two stores, even if it does not exist.
    package func address(_ side: StoreSide) throws -> StoreAddress {
        engines.address(side == .old ? old : new, ofUser: "alice", inFolder: try directory.path)
    }

    /// Opens one of the two stores without the rollout, as another program would.
    package func withStore<R>(
        _ side: StoreSide,
        _ access: StoreAccess = .readOnly,
        _ body: (any UserStoreBackend) throws -> R
    ) throws -> R {
        let store = try engines.open(try address(side), access, schema: HabitSchema.current)
        defer { store.close() }
        return try body(store)
    }

    /// Brings a store to a stage through the gate, with all the evidence that it asks for.
    ///
    /// - Parameter reading: makes the shadow reads for the evidence.
    package func bring(
        _ store: UserStore,
        to stage: Stage,
        of pair: EnginePair? = nil,
        reading: (UserStore) throws -> Void = { _ = try $0.all(Habit.self) }
    ) throws {
        try want(stage.rawValue, of: pair)
        store.reloadFlags()
        try store.passGates(to: stage, reading: reading)
    }
}

extension RolloutOptions {
    /// Options for users whom only a test moves, with a gate policy that asks for little evidence.
    package static var staged: RolloutOptions {
        var options = RolloutOptions()
        // Checks report failures themselves.
        options.logger.logLevel = .critical
        options.followsFlags = false
        options.advancesByItself = false
        options.gate.cleanShadowReads = 3
        options.shadowReads.recordEvery = 1
        // On a machine that runs all tests together, a comparison can wait longer than a reader should.
        options.shadowReads.comparisonSeconds = 120
        options.mirror.waitSeconds = 10
        return options
    }
}

extension UserStores {
    /// Opens a user, runs `body`, and closes the user.
    @discardableResult
    package func with<R>(_ user: String = "alice", _ body: (UserStore) throws -> R) throws -> R {
        let store = try self.store(for: user)
        defer { store.close() }
        return try body(store)
    }
}

extension UserStore {
    /// Goes forward to a stage that the flags want, with all the evidence that the gates ask for, and waits for the mirror.
    ///
    /// - Parameter reading: makes the shadow reads for the evidence.
    package func passGates(to stage: Stage, reading: (UserStore) throws -> Void) throws {
        while let next = try self.stage().next, next <= stage {
            for _ in 0..<5 { try reading(self) }
            let decision = try advance(to: next)
            guard decision?.isOpen == true else {
                let reasons = decision?.reasons.map(\.description).joined(separator: "; ") ?? "nothing was decided"
                throw HabitStoreError(.unsupported, "the gate to \(next.rawValue) is closed: \(reasons)")
            }
        }
        _ = waitUntilMirrorIsIdle(waitSeconds: 60)
    }
}

extension StagedUser {
    /// How many habits one of the two stores has; nil if there is no store.
    func habitCount(_ side: StoreSide) throws -> Int? {
        guard try engines.identity(of: address(side)) != nil else { return nil }
        return try withStore(side) { try $0.fetchCount(FetchDescriptor<Habit>()) }
    }

    /// - Throws: ``HabitStoreTesting/ContractViolation`` unless the store is at the stage, on the engine that serves there, and has exactly these
    ///   habits.
    func expect(_ store: UserStore, at stage: Stage, habits: [String]) throws {
        try expectEqual(try store.all(Habit.self).map(\.name).sorted(), habits.sorted(), "what is read")
        try expectEqual(try store.stage(), stage, "the stage")
        try expectEqual(try store.engine(), stage.authority == .old ? old : new, "the engine that serves")
    }

    /// - Throws: ``HabitStoreTesting/ContractViolation`` unless the verifier finds both stores equal and at the same token.
    func expectEqualStores() throws {
        let report = try withStore(.old) { old in
            try withStore(.new) { new in
                try ShadowVerifier(.init(name: "old", store: old), .init(name: "new", store: new)).run()
            }
        }
        try expectEqual(report.verdict, .match, "the verdict on the two stores, of \(report.differences),")
        try expectEqual(report.a.information.token, report.b.information.token, "the old store's token")
    }
}

extension ReplicableStore {
    /// Removes the first record of the schema's first entity without recording it in the history, as a program outside the rollout might.
    ///
    /// - Throws: ``HabitStoreError/Code/notFound`` if there is none.
    package func loseARecord() throws {
        try replicate { replica in
            var first: UUID?
            try replica.enumerate(entity: 0, after: nil) { id, _ in
                first = id
                return false
            }
            guard let first else { throw HabitStoreError(.notFound, "there is no record to be lost") }
            try replica.remove(entity: 0, id: first)
        }
    }
}

/// Two engines between which this kit moves users.
public struct RolloutUnderTest: Sendable, CustomStringConvertible {
    /// The engine that users come from.
    public let old: any EngineProvider
    /// The engine that they move to.
    public let new: any EngineProvider
    private let templates = StageTemplates()

    /// Creates a pair of engines. A stored value, such as a `static let`, brings users to their stages only once for all checks.
    public init(from old: any EngineProvider, to new: any EngineProvider) { (self.old, self.new) = (old, new) }

    /// `OLD to NEW`.
    public var description: String { "\(old.name) to \(new.name)" }

    /// The same engines in the opposite direction.
    public var reversed: RolloutUnderTest { RolloutUnderTest(from: new, to: old) }

    /// Both engines, the old one first.
    var providers: [any EngineProvider] { [old, new] }

    /// The engines' names.
    package var pair: EnginePair { EnginePair(old: old.name, new: new.name) }

    /// A new user without any stores.
    ///
    /// - Throws: ``HabitStore/HabitStoreError/Code/invalidValue`` if both engines have the same name.
    package func user() throws -> StagedUser { try StagedUser(pair, try Engines(providers)) }

    /// A user who has reached a stage through the gate.
    package func user(at stage: Stage) throws -> StagedUser {
        let user = try user()
        try templates.copy(stage, of: self, to: user)
        try user.want(stage.rawValue)
        return user
    }
}

/// Users who have reached each stage through the gate, to be copied: getting there costs more than most checks.
package final class StageTemplates: Sendable {
    /// The names of the records that every copied user has.
    package static let names = (1...3).map { "written \($0)" }

    private let made = Mutex<TemporaryFolder?>(nil)

    /// Copies a user at a stage to the root of a new user.
    func copy(_ stage: Stage, of rollout: RolloutUnderTest, to user: StagedUser) throws {
        let templates = try made.withLock { made in
            let templates = try made ?? make(rollout)
            made = templates
            return templates
        }
        try rollout.copyUsers(under: templates.path(stage.rawValue), to: user.root)
    }

    private func make(_ rollout: RolloutUnderTest) throws -> TemporaryFolder {
        let templates = try TemporaryFolder()
        let user = try rollout.user()
        for stage in Stage.allCases {
            let store = try user.stores().store(for: "alice")
            if stage == .off {
                let date = Date(timeIntervalSinceReferenceDate: 700_000_000)
                for name in Self.names { try store.save(Draft(content: name, creationDate: date)) }
            }
            try user.bring(store, to: stage)
            store.close()
            try rollout.copyUsers(under: user.root, to: templates.path(stage.rawValue))
        }
        return templates
    }
}

extension RolloutUnderTest {
    /// Copies everything under a root, and the stores that engines keep elsewhere.
    package func copyUsers(under root: String, to target: String) throws {
        try FileManager.default.copyItem(atPath: root, toPath: target)
        let folders = try [root, target].map { try UserDirectory(root: $0, user: "alice").path }
        for provider in providers {
            let places = folders.map { provider.place(ofUser: "alice", inFolder: $0) }
            guard try provider.identity(at: places[0]) != nil, try provider.identity(at: places[1]) == nil else {
                continue
            }
            try provider.copy(places[0], to: places[1])
        }
    }
}
