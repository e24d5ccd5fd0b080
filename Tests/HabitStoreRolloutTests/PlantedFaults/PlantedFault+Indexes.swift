import Foundation
import HabitTracker

@_spi(Engines) @testable import HabitStore

extension PlantedFault {
    /// Index entries that do not match the records, which are right.
    static func indexes(_ contents: PlantedContents) -> [PlantedFault] {
        let (entry, habit) = (contents.entries[60], contents.habits[3])
        let (first, second) = (contents.entries[61], contents.entries[161])
        func damage(_ entity: String, _ id: UUID) -> Trace { .init(level: "store checks", entity: entity, id: id) }
        let unknown = SampleRecords.id(9_003)
        return inEach("a dropped entry of the index by date", [damage("Entry", entry.id)]) { planter, _ in
            try planter.dropIndexEntries("Entry", ["date"], of: entry.id)
        }
            + inEach("a dropped entry of the index by reference", [damage("Entry", entry.id)]) { planter, _ in
                try planter.dropIndexEntries("Entry", ["habitID", "date"], of: entry.id)
            }
            + inEach("a dropped entry of the index by name", [damage("Habit", habit.id)]) { planter, _ in
                try planter.dropIndexEntries("Habit", ["name"], of: habit.id)
            }
            + inEach("links in one direction only", [damage("Habit", habit.id)]) { planter, _ in
                try planter.dropIndexEntries("Habit", ["tagIDs"], of: habit.id)
            }
            + inEach("a link added in one direction only", [damage("Habit", habit.id)]) { planter, contents in
                var linked = habit
                linked.tagIDs = [contents.tags[3].id]
                try planter.addIndexEntries("Habit", ["tagIDs"], of: try linked.values)
            }
            + inEach("an extra index entry", [damage("Entry", unknown)]) { planter, _ in
                try planter.addIndexEntries("Entry", ["date"], of: [.uuid(unknown)] + entry.values.dropFirst())
            }
            + inEach(
                "index entries that lead to the wrong record",
                [damage("Entry", first.id), damage("Entry", second.id)]
            ) { planter, _ in
                try planter.swapIndexEntries("Entry", "date", of: try first.values, and: try second.values)
            }
            + copies(entry, damage("Entry", entry.id))
            + misnamed(entry, damage("Entry", second.id), as: second.id)
    }

    /// Index entries that name a different record from their keys.
    private static func misnamed(_ entry: Entry, _ damage: Trace, as other: UUID) -> [PlantedFault] {
        only([.postgres], "an index entry that names another record than its key", [damage]) { planter, _ in
            try (planter as? PostgresPlanter)?.misnameIndexEntries("Entry", ["date"], of: entry.id, as: other)
        }
    }

    /// Copies in the clustering index that do not match the records.
    private static func copies(_ entry: Entry, _ damage: Trace) -> [PlantedFault] {
        only([.sqlite, .lmdb], "a stale copy in the clustering index", [damage]) { planter, _ in
            let earlier = Value.string("as it was before")
            try (planter as? any CopyPlanter)?.changeCopy("Entry", try entry.values, "note", earlier)
        }
            + only([.lmdb], "a missing copy in the clustering index", [damage]) { planter, _ in
                try (planter as? LMDBPlanter)?.dropCopy("Entry", try entry.values)
            }
            + only([.lmdb], "a damaged copy in the clustering index", [damage]) { planter, _ in
                try (planter as? LMDBPlanter)?.damageCopy("Entry", try entry.values)
            }
    }
}
