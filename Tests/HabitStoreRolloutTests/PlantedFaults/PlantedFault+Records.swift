import Foundation
import HabitTracker

@testable import HabitStore

extension PlantedFault {
    private static let unknown = SampleRecords.id(9_001)
    private static let otherUnknown = SampleRecords.id(9_002)

    /// Records that are lost, added, exchanged, or outdated.
    static func records(_ contents: PlantedContents) -> [PlantedFault] {
        let (habit, entry, draft) = (contents.habits[6], contents.entries[77], contents.drafts[0])
        let (first, second) = (contents.entries[1], contents.entries[6])
        return inEach("a lost habit", [.contents(habit, nil)]) { planter, _ in try planter.remove("Habit", habit.id) }
            + inEach("a lost entry", [.contents(entry, nil)]) { planter, _ in try planter.remove("Entry", entry.id) }
            + inEach("a duplicated record", [.contents("Entry", unknown)]) { planter, _ in
                try planter.insert("Entry", [.uuid(unknown)] + entry.values.dropFirst())
            }
            + inEach("an extra record", [.contents("Draft", unknown)]) { planter, _ in
                let values = try Draft(id: unknown, content: "never written", creationDate: draft.creationDate).values
                try planter.insert("Draft", values)
            }
            + inEach("a record under another identifier", [.contents(entry, nil), .contents("Entry", unknown)]) {
                planter,
                _ in
                try planter.remove("Entry", entry.id)
                try planter.insert("Entry", [.uuid(unknown)] + entry.values.dropFirst())
            }
            + inEach(
                "a pair of equal records that cancel under XOR",
                [.contents("Draft", unknown), .contents("Draft", otherUnknown)]
            ) { planter, _ in
                for id in [unknown, otherUnknown] {
                    try planter.insert("Draft", [.uuid(id)] + draft.values.dropFirst())
                }
            }
            + inEach(
                "the same change in two records, which cancels under XOR",
                [.contents(contents.entries[24], "note"), .contents(contents.entries[48], "note")]
            ) { planter, contents in
                // Neither has a note.
                for number in [24, 48] {
                    try planter.change("Entry", contents.entries[number].id, ["note": .string("same")])
                }
            }
            + inEach(
                "swapped notes of two entries",
                [.contents(first, "note"), .contents(second, "note")]
            ) {
                planter,
                _ in
                try planter.change("Entry", first.id, ["note": second.note.map(Value.string) ?? .null])
                try planter.change("Entry", second.id, ["note": first.note.map(Value.string) ?? .null])
            }
            + inEach("two swapped records", [.contents(first, "date"), .contents(second, "date")]) {
                planter,
                _ in
                try planter.change("Entry", first.id, Self.named(second))
                try planter.change("Entry", second.id, Self.named(first))
            }
            + versions(contents)
    }

    private static func versions(_ contents: PlantedContents) -> [PlantedFault] {
        let (habit, entry, deleted) = (contents.earlierHabit, contents.earlierEntry, contents.deletedEntry)
        return inEach(
            "the previous version of a habit",
            [.contents(habit, "streak"), .contents(habit, "category")]
        ) {
            planter,
            _ in
            try planter.change("Habit", habit.id, Self.named(habit))
        }
            + inEach("the previous version of an entry", [.contents(entry, "note"), .contents(entry, "value")]) {
                planter,
                _ in
                try planter.change("Entry", entry.id, Self.named(entry))
            }
            + inEach("half of an update", [.contents(entry, "note")]) { planter, _ in
                try planter.change("Entry", entry.id, ["note": entry.note.map(Value.string) ?? .null])
            }
            + inEach("a deleted entry that reappears", [.contents("Entry", deleted.id)]) { planter, _ in
                try planter.insert("Entry", try deleted.values)
            }
            + inEach("a deleted tag that reappears", [.contents("Tag", contents.deletedTag.id)]) { planter, contents in
                try planter.insert("Tag", try contents.deletedTag.values)
            }
            + inEach(
                "an update of the wrong record",
                [.contents(entry, "note"), .contents(contents.entries[121], "note")]
            ) { planter, contents in
                let note = contents.entries[120].note.map(Value.string) ?? .null
                try planter.change("Entry", entry.id, ["note": entry.note.map(Value.string) ?? .null])
                try planter.change("Entry", contents.entries[121].id, ["note": note])
            }
    }

    /// All values except the identifier, by name.
    private static func named<M: PersistentModel>(_ model: M) throws -> [String: Value] {
        let names = M.entity.attributes.map(\.name)
        return Dictionary(uniqueKeysWithValues: zip(names, try model.values).dropFirst().map { ($0, $1) })
    }

    /// References and links.
    static func links(_ contents: PlantedContents) -> [PlantedFault] {
        let (entry, habit) = (contents.entries[30], contents.habits[3])
        let tags = contents.tags.map(\.id)
        let dangling = Trace(level: "relationships", entity: "Entry", id: entry.id, attribute: "habit")
        let danglingLink = Trace(level: "relationships", entity: "Habit", id: habit.id, attribute: "tags")
        return value("a reference to the wrong record", entry, "habitID", .uuid(contents.habits[0].id))
            + value("a lost reference", entry, "habitID", .null)
            + value("a reference for nil", contents.entries[49], "habitID", .uuid(contents.habits[0].id))
            + inEach("a dangling reference", [.contents(entry, "habitID"), dangling]) { planter, _ in
                try planter.change("Entry", entry.id, ["habitID": .uuid(unknown)])
            }
            + value("a link to the wrong record", habit, "tagIDs", .links([tags[0], tags[1], tags[3]]))
            + value("a lost link", habit, "tagIDs", .links([tags[0], tags[2]]))
            + value("an added link", habit, "tagIDs", .links(tags))
            + inEach("a dangling link", [.contents(habit, "tagIDs"), danglingLink]) { planter, _ in
                try planter.change("Habit", habit.id, ["tagIDs": .links(tags.prefix(3) + [unknown])])
            }
            + only([.lmdb, .postgres], "a duplicate link", [.contents(habit, "tagIDs")]) { planter, _ in
                try planter.change("Habit", habit.id, ["tagIDs": .links([tags[0], tags[0], tags[1], tags[2]])])
            }
            + only([.lmdb, .postgres], "links in another order", [.contents(habit, "tagIDs")]) { planter, _ in
                try planter.change("Habit", habit.id, ["tagIDs": .links([tags[2], tags[1], tags[0]])])
            }
    }
}
