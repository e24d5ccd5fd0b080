import Foundation
@_spi(Engines) import HabitStore
import HabitTracker

extension StoreContract {
    static let checkingClauses: [Clause] = [
        Clause("a check of a healthy store finds nothing, and reports its progress") { bench in
            let store = try bench.habits()
            let tag = Tag(name: "t")
            let habit = Habit(name: "h", tagIDs: [tag.id])
            try store.write { transaction in
                try transaction.insert(tag)
                try transaction.insert(habit)
                for number in 0..<50 { try transaction.insert(Entry(note: "\(number)", habitID: habit.id)) }
            }
            try store.delete(Entry.self, where: #Predicate { $0.note == "7" })
            var progress: [Int] = []
            try expectEqual(try store.check { progress.append($0) }, [], "the findings")
            try expect(!progress.isEmpty, "the check reports its progress")
            do {
                _ = try store.check { _ in throw Abandoned() }
                throw ContractViolation("an observer's error did not end the check")
            } catch is Abandoned {}
        },
        Clause("anomalies carried over from an older store are kept and reported", reportsAnomalies),
    ]

    private static func reportsAnomalies(_ bench: ContractBench) throws {
        let store = try bench.habits()
        let (habitID, tagID, missing) = (UUID(), UUID(), UUID())
        let entryID = UUID()
        let twins = [UUID(), UUID()].sorted { $0.isBefore($1) }
        let date = Value.date(Date(timeIntervalSinceReferenceDate: 3e11))
        let habit: [Value] = [
            .uuid(habitID), .string("h"), .date(Date(timeIntervalSinceReferenceDate: 0)), .int(0), .null, .bool(false),
            .int(1), .int(1), .null, .null, .links([missing, tagID]),
        ]
        try store.replicate { transaction in
            try transaction.put(entity: 0, id: habitID, try EncodedRecord(habit, layout: Habit.entity.layout))
            try transaction.put(
                entity: 1,
                id: entryID,
                try EncodedRecord([.uuid(entryID), date, .null, .null, .uuid(missing)], layout: Entry.entity.layout)
            )
            for id in twins + [tagID] {
                let name = Value.string(id == tagID ? "other" : "twin")
                try transaction.put(entity: 2, id: id, try EncodedRecord([.uuid(id), name], layout: Tag.entity.layout))
            }
        }
        let findings = try store.check { _ in }
        try expect(findings.allSatisfy { $0.severity == .anomaly }, "anomalies are not damage: \(findings)")
        let found = Set(
            findings.map { "\($0.kind) \($0.entity ?? "") \($0.attribute ?? "") \($0.id?.uuidString ?? "")" }
        )
        let expected: Set = [
            "danglingReference Habit tags \(habitID.uuidString)", "danglingReference Entry habit \(entryID.uuidString)",
            "oddDate Entry date \(entryID.uuidString)", "duplicateUniqueValue Tag name \(twins[1].uuidString)",
        ]
        try expectEqual(found, expected, "the findings")
        try store.read { moment in
            try expectEqual(try moment.all(Tag.self).map(\.name).sorted(), ["other", "twin", "twin"], "the tags")
            let twinsByName = FetchDescriptor(predicate: #Predicate<Tag> { $0.name == "twin" })
            try expectEqual(try moment.fetchIdentifiers(twinsByName), twins, "the tags of the same name")
            let entry = try require(try moment.model(Entry.self, id: entryID), "the entry")
            try expectEqual(entry.habit, nil, "the habit that does not exist")
            let linked = try require(try moment.model(Habit.self, id: habitID), "the habit")
            try expectEqual(linked.tags.map(\.id), [tagID], "the tags that exist")
        }
        // Records with anomalies can be changed and deleted as long as no new anomaly arises.
        try store.write { transaction in
            var entry = try require(try transaction.model(Entry.self, id: entryID), "the entry")
            entry.note = "changed"
            try transaction.save(entry)
            try transaction.delete(Tag.self, id: twins[0])
        }
        try expectEqual(try store.fetchCount(FetchDescriptor<Tag>()), 2, "the number of tags")
        try expectError(.uniqueViolation, entity: "Tag", attribute: "name", id: twins[1]) {
            try store.save(Tag(name: "twin"))
        }
    }
}
