import Foundation
@_spi(Engines) import HabitStore
import HabitStoreLMDB
import HabitStoreSQLite
import HabitTracker
import StandardEngines
import Testing

@testable import HabitStoreRollout

/// A rollout is between two of the app's engines, however many it has.
struct ThirdEngineTests {
    private func engines() throws -> Engines { try Engines([SQLiteProvider(), LMDBProvider(), InMemoryProvider()]) }

    private func pair(_ old: EngineName, _ new: EngineName) -> EnginePair { EnginePair(old: old, new: new) }

    /// After the end of a rollout, the user moves on to an engine that did not take part in it.
    @Test func theNextRolloutBeginsWhenTheStoreThatWasLeftIsGone() throws {
        let user = try StagedUser(old: .sqlite, new: .lmdb, engines: try engines())
        let store = try user.stores().store(for: "alice")
        defer { store.close() }
        try store.save(Habit(name: "Run"))
        try user.bring(store, to: .complete)
        let next = pair(.lmdb, .memory)
        try user.want("dualwrite", of: next)
        store.files.context.flags.provider.reload()
        #expect(try store.stage() == .complete)
        #expect(store.notes.contains { $0.contains("between sqlite and lmdb") }, "\(store.notes)")
        #expect(try store.advance() == nil)
        try SQLiteProvider().remove(user.address(.old).path)
        try user.want("off", of: next)
        store.files.context.flags.provider.reload()
        #expect(try store.stage() == .off)
        #expect(try store.engine() == .lmdb)
        try user.bring(store, to: .complete, of: next)
        #expect(try store.engine() == .memory)
        try store.save(Habit(name: "Read"))
        #expect(try store.all(Habit.self).map(\.name).sorted() == ["Read", "Run"])
        // A process that starts now finds the user there.
        let again = try user.stores().store(for: "alice")
        defer { again.close() }
        #expect(try again.engine() == .memory)
        #expect(try again.fetchCount(FetchDescriptor<Habit>()) == 2)
    }

    /// A flag file about another rollout's engines does not affect a user in the middle of this one.
    @Test func flagsOfOtherEnginesMoveNobodyInTheMiddleOfARollout() throws {
        let user = try StagedUser(old: .sqlite, new: .lmdb, engines: try engines())
        let store = try user.stores().store(for: "alice")
        defer { store.close() }
        try store.save(Habit(name: "Run"))
        try user.bring(store, to: .live)
        for (stage, engines) in [("off", pair(.sqlite, .memory)), ("complete", pair(.memory, .lmdb))] {
            try user.want(stage, of: engines)
            store.files.context.flags.provider.reload()
            #expect(try store.stage() == .live)
            #expect(try store.engine() == .lmdb)
            #expect(try store.advance() == nil, "\(engines)")
            let again = try user.stores().store(for: "alice")
            defer { again.close() }
            #expect(try again.stage() == .live)
            #expect(try again.fetchCount(FetchDescriptor<Habit>()) == 1)
            #expect(try user.stores().status(of: "alice").stage == .live)
        }
    }

    /// The flags name two engines for which the user has no store, and the one store that would say so is damaged: no empty store is served, and the
    /// mirror does not pass for the serving store.
    @Test(arguments: [Stage.off, .complete])
    func aDamagedStoreOfAnotherEngineIsNotPassedOver(stage: Stage) throws {
        let user = try StagedUser(old: .lmdb, new: .sqlite, engines: try engines())
        let store = try user.stores().store(for: "alice")
        try store.save(Habit(name: "Run"))
        try user.bring(store, to: stage)
        store.close()
        let serving = try user.address(stage.authority)
        try Data("no store, for certain".utf8).write(to: URL(fileURLWithPath: serving.path))
        let others = EnginePair(old: .memory, new: stage.authority == .old ? .sqlite : .lmdb)
        try user.want("off", of: others)
        let error = #expect(throws: HabitStoreError.self) { try user.stores().store(for: "alice") }
        #expect(error?.location.path == serving.path)
        #expect(try user.engines.identity(of: user.engines.address(.memory, of: user.directory)) == nil)
    }

    /// An earlier version knows two engines, and derives the new one from the old: it would take such a user to LMDB.
    @Test func aStateOfOtherEnginesIsRefusedByAnEarlierVersion() throws {
        for engines in StageTableTests.rollouts.map(\.pair) + [pair(.memory, .sqlite)] {
            var state = RolloutState(stage: .live, engines: engines, movingTo: .off)
            state.owner = "00112233445566778899aabbccddeeff"
            state.turns = "a,b"
            state.fled = engines.new
            let text = try state.encoded()
            #expect(try RolloutState(parsing: text, path: nil) == state)
            #expect(try RolloutState(parsing: " " + text, path: nil) == state)
            #expect(text.contains("\"old\"") == !engines.contains(.memory))
        }
        for text in [
            #"{"engines":["lmdb"],"isKilled":true,"stage":"live"}"#,
            #"{"engines":["lmdb","lmdb"],"isKilled":true,"stage":"live"}"#,
            #"{"engines":["lmdb","No Name"],"isKilled":true,"stage":"live"}"#,
            #"{"isKilled":true,"old":"memory","stage":"live"}"#,
        ] {
            let error = #expect(throws: HabitStoreError.self) { try RolloutState(parsing: text, path: nil) }
            #expect(error?.code == .corrupt)
        }
    }

    @Test func aUserOnAnEngineThatAnAppHasNotIsRefusedInOneLine() throws {
        let user = try StagedUser(old: .memory, new: .lmdb, engines: try engines())
        let store = try user.stores().store(for: "alice")
        try store.save(Habit(name: "Run"))
        try user.bring(store, to: .complete)
        store.close()
        let few = try UserStores(root: user.root, flags: nil, engines: .standard, schema: HabitSchema.current)
        let status = try few.status(of: "alice")
        #expect(status.engine == .lmdb)
        let again = try few.store(for: "alice")
        defer { again.close() }
        #expect(try again.fetchCount(FetchDescriptor<Habit>()) == 1)
        #expect(throws: HabitStoreError.self) { try again.demote() }
        #expect(try again.fetchCount(FetchDescriptor<Habit>()) == 1)
    }
}
