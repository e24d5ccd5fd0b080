import Foundation
import HabitStoreTesting
import HabitTracker
import Testing

@_spi(Engines) @testable import HabitStore
@testable import ShadowVerifier

/// The same record was missing from both stores, with matching digests, and the verdict was IDENTICAL, although the history had its insertion. Now
/// the records are compared with the history that both stores have.
struct HistoryReplayTests {
    private let entry = StorePair.id(12)

    @Test func aRecordThatIsMissingFromBothIsADifference() throws {
        let pair = try StorePair()
        for store in [pair.a, pair.b] { try StorePair.remove(store, "Entry", entry) }
        let report = try pair.verify()
        #expect(report.verdict == .mismatch)
        #expect(report.differences.map(\.kind) == [.history])
        #expect(report.differences.map(\.id) == [entry])
        #expect(report.differences.first?.message.contains("neither store has it") == true)
        #expect(report.notes == [])
    }

    @Test func aRecordThatIsMissingFromOneIsToldOnce() throws {
        for side in 0..<2 {
            let pair = try StorePair()
            try StorePair.remove([pair.a, pair.b][side], "Entry", entry)
            let report = try pair.verify()
            #expect(!report.differences.contains { $0.kind == .history })
            #expect(report.differences.contains { $0.id == entry && [.missingInA, .missingInB].contains($0.kind) })
        }
    }

    @Test func aRecordThatBothHaveAlthoughItWasDeletedIsADifference() throws {
        let pair = try StorePair()
        let position = try pair.a.schema.position(ofEntity: "Entry")
        let record = try #require(try pair.a.replicaRead { try $0.record(entity: position, id: entry) })
        try pair.a.delete(Entry.self, where: #Predicate { $0.id == entry })
        let copy = try InMemoryHabitStore(schema: HabitSchema.current)
        try pair.a.copyContents(to: copy)
        for store in [pair.a, copy] { try store.replicate { try $0.put(entity: position, id: entry, record) } }
        let report = try ShadowVerifier(.init(name: "A", store: pair.a), .init(name: "B", store: copy)).run()
        #expect(report.differences.map(\.kind) == [.history])
        #expect(report.differences.first?.message.contains("both stores have it") == true)
    }

    @Test func aHistoryThatBeginsLaterTellsOfWhatItHasAndSaysWhatWasThereBefore() throws {
        let pair = try StorePair()
        let later = Entry(note: "later", habitID: StorePair.run.id)
        let kept = Entry(note: "kept", habitID: StorePair.run.id)
        try pair.a.pruneHistory(through: try pair.a.currentToken())
        try pair.a.insert([later, kept])
        let copy = try InMemoryHabitStore(schema: HabitSchema.current)
        try pair.a.copyContents(to: copy)
        let verifier = ShadowVerifier(.init(name: "A", store: pair.a), .init(name: "B", store: copy))
        let before = try verifier.run()
        #expect(before.verdict == .match)
        let note =
            "history: it begins after token 1, when the stores already had records (2 of Habit, 10 of Entry, 1 of Tag, 1 of Draft)"
        #expect(before.notes.contains { $0.hasPrefix(note) }, "\(before.notes)")
        for store in [pair.a, copy] { try StorePair.remove(store, "Entry", later.id) }
        let after = try verifier.run()
        #expect(after.differences.map(\.id) == [later.id])
        #expect(after.notes == before.notes)
    }

    @Test func aRecordThatBothHaveAndNoHistoryIsSaidToBeOlderThanIt() throws {
        let pair = try StorePair()
        let position = try pair.a.schema.position(ofEntity: "Tag")
        let id = StorePair.id(77)
        let values: [Value] = [.uuid(id), .string("nobody's")]
        for store in [pair.a, pair.b] {
            let record = try EncodedRecord(values, layout: Tag.entity.layout)
            try store.replicate { try $0.put(entity: position, id: id, record) }
        }
        let report = try pair.verify()
        #expect(report.verdict == .match)
        #expect(report.notes.contains { $0.contains("(1 of Tag)") }, "\(report.notes)")
    }

    /// A version without drafts, and a later one with drafts again: the history still has the first ones.
    @Test func whatAMigrationRemovedIsNotMissing() throws {
        let store = try InMemoryHabitStore(schema: HabitSchema.current)
        try store.insert([Draft(content: "first"), Draft(content: "second")])
        try store.insert([Tag(name: "first")])
        let tag = Tag(name: "second")
        try store.insert([tag])
        let position = try store.schema.position(ofEntity: "Draft")
        for draft in try store.all(Draft.self) {
            try store.replicate { try $0.remove(entity: position, id: draft.id) }
        }
        func verify() throws -> VerificationReport {
            let copy = try InMemoryHabitStore(schema: HabitSchema.current)
            try store.copyContents(to: copy)
            return try ShadowVerifier(.init(name: "A", store: store), .init(name: "B", store: copy)).run()
        }
        #expect(try verify().differenceCount == 2)
        try store.write(author: "migration 2.0.0 to 3.0.0") { try $0.insert(Draft(content: "third")) }
        let report = try verify()
        #expect(report.verdict == .match)
        #expect(report.notes.contains { $0.contains("its changes of Draft are older than a migration") })
        try StorePair.remove(store, "Tag", tag.id)
        #expect(try verify().differences.map(\.entity) == ["Tag"])
    }
}
