import Foundation
import HabitStore
import HabitStoreLMDB
import HabitStoreSQLite
import StandardEngines
import Testing

@testable import HabitStoreRollout

/// Each stage, each way round, does what the table of the stages says.
struct StageTableTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let stage: Stage
        let engines: EnginePair

        var testDescription: String { "\(stage.rawValue), from \(engines.old) to \(engines.new)" }
    }

    /// Both ways between the two that come with the package, and to and from one that is in no file.
    static let pairs = [
        EnginePair(old: .sqlite, new: .lmdb), EnginePair(old: .lmdb, new: .sqlite),
        EnginePair(old: .sqlite, new: .memory),
        EnginePair(old: .memory, new: .lmdb),
    ]

    static let rows = pairs.flatMap { pair in Stage.allCases.map { Row(stage: $0, engines: pair) } }

    private func user(_ pair: EnginePair) throws -> StagedUser {
        let engines = try Engines([SQLiteProvider(), LMDBProvider(), InMemoryProvider()])
        return try StagedUser(old: pair.old, new: pair.new, engines: engines)
    }

    private func count(_ user: StagedUser, _ side: StoreSide) throws -> Int? {
        let address = try user.address(side)
        guard user.engines.identity(of: address) != nil else { return nil }
        let store = try user.engines.open(address, .readOnly, schema: HabitSchema.current)
        defer { store.close() }
        return try store.fetchCount(FetchDescriptor<Habit>())
    }

    @Test(arguments: rows)
    func aStageReadsWritesAndMirrorsAsTheTableSays(row: Row) throws {
        let user = try user(row.engines)
        let store = try user.stores().store(for: "alice")
        try store.save(Habit(name: "Run"))
        try user.bring(store, to: row.stage)
        let before = try (count(user, .old), count(user, .new))
        try store.save(Habit(name: "Read"))
        #expect(try store.all(Habit.self).map(\.name).sorted() == ["Read", "Run"])
        #expect(try store.stage() == row.stage)
        #expect(try store.engine() == (row.stage.authority == .old ? row.engines.old : row.engines.new))
        let after = try (count(user, .old), count(user, .new))
        let isWritten = { (side: StoreSide) in row.stage.authority == side || row.stage.mirror == side }
        #expect(after.0 == (isWritten(.old) ? 2 : before.0))
        #expect(after.1 == (isWritten(.new) ? 2 : before.1))
        store.close()
        // It is no other stage for the next process.
        let again = try user.stores().store(for: "alice")
        defer { again.close() }
        #expect(try again.stage() == row.stage)
        #expect(try again.all(Habit.self).map(\.name).sorted() == ["Read", "Run"])
    }

    @Test(arguments: rows)
    func theKillSwitchTakesTheUserBackFromEachStageWithoutLosingARecord(row: Row) throws {
        let user = try user(row.engines)
        let store = try user.stores().store(for: "alice")
        defer { store.close() }
        try store.save(Habit(name: "Run"))
        try user.bring(store, to: row.stage)
        try store.save(Habit(name: "Read"))
        try user.want(row.stage.rawValue, kill: true)
        store.flags.provider.reload()
        #expect(try store.all(Habit.self).map(\.name).sorted() == ["Read", "Run"])
        #expect(try store.stage() == .off)
        #expect(try store.engine() == row.engines.old)
        try store.save(Habit(name: "Swim"))
        // It is latched: neither a flag that is taken back nor the wanted stage lets the user go forward.
        try user.want("complete")
        store.flags.provider.reload()
        #expect(try store.stage() == .off)
        #expect(try store.advance()?.reasons == [.killed])
        try store.rearm(by: "a test")
        try user.bring(store, to: .dualwrite)
        #expect(try store.all(Habit.self).map(\.name).sorted() == ["Read", "Run", "Swim"])
    }

    @Test(arguments: pairs)
    func aUserGoesAllTheWayThereAndAllTheWayBack(pair: EnginePair) throws {
        let user = try user(pair)
        let store = try user.stores().store(for: "alice")
        defer { store.close() }
        var names: [String] = []
        func write(_ name: String) throws {
            try store.save(Habit(name: name))
            names.append(name)
            #expect(try store.all(Habit.self).map(\.name).sorted() == names.sorted())
        }
        try write("at off")
        for stage in Stage.allCases.dropFirst() {
            try user.bring(store, to: stage)
            try write("at \(stage.rawValue)")
        }
        while try store.stage() > .off {
            try store.demote()
            try write("back at \(try store.stage().rawValue)")
        }
        let stages = try store.evidence.read().records.compactMap { record -> [Stage]? in
            guard case .stageChanged(let from, let to, _, _, _, _) = record.event else { return nil }
            return [from, to]
        }
        #expect(stages.count == 10)
        #expect(stages.allSatisfy { abs($0[0].position - $0[1].position) == 1 })
    }
}
