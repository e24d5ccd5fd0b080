import Foundation
@_spi(Engines) import HabitStore
import HabitStoreLMDB
import HabitStoreSQLite
import HabitStoreTesting
import HabitTracker
import Testing

/// A verification that is repeatedly killed and resumed reaches the same verdict as an uninterrupted one.
struct KilledVerificationTests {
    /// The parts of a report that must not depend on how often it was started.
    private struct Outcome: Equatable {
        let verdict: String
        let differences: Set<String>
        let levels: [String]

        init(_ run: CommandRun) throws {
            verdict = try #require(run.json()["verdict"] as? String)
            differences = Set(try run.list("differences").compactMap { $0["differenceID"] as? String })
            levels = try run.list("levels").map {
                "\($0["name"] ?? ""): \($0["compared"] ?? ""), \($0["differences"] ?? "")"
            }
        }
    }

    private func stores(_ sandbox: Sandbox) throws -> (SQLiteHabitStore, LMDBHabitStore) {
        let store = try SQLiteHabitStore(path: sandbox.path("a.sqlite"), schema: HabitSchema.current)
        let habits = (0..<20).map { Habit(name: "Habit \($0)") }
        try store.insert(habits)
        try store.insert((0..<4_000).map { Entry(value: Double($0), habitID: habits[$0 % 20].id) })
        try sandbox.run("copy", "a.sqlite", "lmdb:b.lmdb").expectSuccess()
        return (store, try LMDBHabitStore(path: sandbox.path("b.lmdb"), schema: HabitSchema.current))
    }

    /// Changes an entry in the LMDB store without a history entry.
    private func change(_ entry: Entry, _ store: LMDBHabitStore) throws {
        let values: [Value] = [.uuid(entry.id), .date(entry.date), .string("changed"), .null, .null]
        try store.replicate { try $0.put(entity: 1, id: entry.id, EncodedRecord(values, layout: Entry.entity.layout)) }
    }

    /// Starts the verification and kills it after a time.
    private func kill(_ sandbox: Sandbox, afterMilliseconds time: Int) throws {
        _ = try sandbox.start(["verify", "a.sqlite", "b.lmdb", "--checkpoint", "checkpoint", "--quiet"])
            .kill(afterSeconds: Double(time) / 1_000)
    }

    @Test func killsDoNotChangeTheVerdict() throws {
        let sandbox = try Sandbox()
        let seed = UInt64.random(in: 0...9_999)
        var random = SeededGenerator(seed: seed)
        let (sqlite, lmdb) = try stores(sandbox)
        let entries = try sqlite.all(Entry.self)
        for place in [0, 1_999, 3_999] { try change(entries[place], lmdb) }
        sqlite.close()
        lmdb.close()
        let whole = try Outcome(try sandbox.run("verify", "a.sqlite", "b.lmdb", "--format", "json"))
        #expect(whole.verdict == "mismatch")
        var kept = 0
        for _ in 0..<12 {
            try kill(sandbox, afterMilliseconds: Int.random(in: 0..<600, using: &random))
            if FileManager.default.fileExists(atPath: sandbox.path("checkpoint")) { kept += 1 }
        }
        let run = try sandbox.run("verify", "a.sqlite", "b.lmdb", "--checkpoint", "checkpoint", "--format", "json")
        #expect(try Outcome(run) == whole, "seed \(seed), a checkpoint was left \(kept) times")
        #expect(!FileManager.default.fileExists(atPath: sandbox.path("checkpoint")))
    }

    @Test func aRecordThatIsEditedBehindTheCheckpointIsFound() throws {
        let sandbox = try Sandbox()
        let (sqlite, lmdb) = try stores(sandbox)
        let entry = try #require(try sqlite.all(Entry.self).first)
        sqlite.close()
        lmdb.close()
        var time = 40
        while !FileManager.default.fileExists(atPath: sandbox.path("checkpoint")) {
            try kill(sandbox, afterMilliseconds: time)
            time = time > 4_000 ? 40 : time * 5 / 4
        }
        let later = try LMDBHabitStore(path: sandbox.path("b.lmdb"), schema: HabitSchema.current)
        try change(entry, later)
        later.close()
        let run = try sandbox.run("verify", "a.sqlite", "b.lmdb", "--checkpoint", "checkpoint", "--format", "json")
        #expect(run.status == 1)
        #expect(Set(try run.list("differences").compactMap { $0["id"] as? String }) == [entry.id.uuidString])
        let notes = try #require(try run.json()["notes"] as? [String])
        #expect(notes.contains { $0.contains("written to") })
    }
}
