import Foundation
import HabitTracker

@_spi(Engines) @testable import HabitStore

extension PlantedFault {
    /// Kept digests that do not match the records, and wrong records with matching digests.
    static func digests(_ contents: PlantedContents) -> [PlantedFault] {
        let kept = Trace(level: "kept digests", entity: "Entry")
        return inEach("a flipped bit of a kept digest", [kept]) { planter, _ in
            try planter.changeDigest("Entry", count: 0, sum: 4)
        }
            + inEach("a kept record count off by one", [kept]) { planter, _ in
                try planter.changeDigest("Entry", count: 1, sum: 0)
            }
            + storeRows() + mirrored(contents)
    }

    /// The row of a store on a server, which sums up all the others.
    private static func storeRows() -> [PlantedFault] {
        only(
            [.postgres],
            "a flipped bit of the digests in the store's row",
            [Trace(level: "store checks", entity: "Draft")]
        ) {
            planter,
            _ in
            try (planter as? PostgresPlanter)?.changeStoreRow("digests")
        }
            + only([.postgres], "a flipped bit of the bookkeeping's sum in the store's row", []) { planter, _ in
                try (planter as? PostgresPlanter)?.changeStoreRow("meta_sum")
            }.map { $0.expecting(.refusal) }
            + only(
                [.postgres],
                "a flipped bit of a kept digest, with the store's row unchanged",
                [Trace(level: "kept digests", entity: "Entry"), Trace(level: "store checks", entity: "Entry")]
            ) { planter, _ in
                try (planter as? PostgresPlanter)?.leavingStoreRow.changeDigest("Entry", count: 0, sum: 4)
            }
    }

    /// Errors that a mirror makes in its own transactions: nothing within the store reveals them.
    static func mirrored(_ contents: PlantedContents) -> [PlantedFault] {
        let (habit, entry, unknown) = (contents.habits[9], contents.entries[90], SampleRecords.id(9_004))
        return inEach("another value written by the mirror", [.contents(habit, "timesPerPeriod")]) { planter, _ in
            var wrong = habit
            wrong.timesPerPeriod += 1
            let record = try EncodedRecord(try wrong.values, layout: Habit.entity.layout)
            try planter.mirror { try $0.put(entity: 0, id: habit.id, record) }
        }
            + inEach("a record that the mirror lost", [.contents(entry, nil)]) { planter, _ in
                try planter.mirror { try $0.remove(entity: 1, id: entry.id) }
            }
            + inEach("a record that the mirror doubled", [.contents("Entry", unknown)]) { planter, _ in
                let values = try [.uuid(unknown)] + entry.values.dropFirst()
                let record = try EncodedRecord(values, layout: Entry.entity.layout)
                try planter.mirror { try $0.put(entity: 1, id: unknown, record) }
            }
    }
}
