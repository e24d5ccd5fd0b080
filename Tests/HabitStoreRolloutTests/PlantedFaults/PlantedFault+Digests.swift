import Foundation

@_spi(Engines) @testable import HabitStore

extension PlantedFault {
    /// Kept digests that are not those of the records, and records that are wrong with digests that follow them.
    static func digests(_ contents: PlantedContents) -> [PlantedFault] {
        let kept = Trace(level: "kept digests", entity: "Entry")
        return inBoth("a bit of a kept digest", [kept]) { planter, _ in
            try planter.changeDigest("Entry", count: 0, sum: 4)
        }
            + inBoth("a kept number of records off by one", [kept]) { planter, _ in
                try planter.changeDigest("Entry", count: 1, sum: 0)
            }
            + mirrored(contents)
    }

    /// What a mirror does wrongly in its own transactions: nothing within the store tells.
    static func mirrored(_ contents: PlantedContents) -> [PlantedFault] {
        let (habit, entry, unknown) = (contents.habits[9], contents.entries[90], SampleRecords.id(9_004))
        return inBoth("another value written by the mirror", [.contents(habit, "timesPerPeriod")]) { planter, _ in
            var wrong = habit
            wrong.timesPerPeriod += 1
            let record = try EncodedRecord(try wrong.values, layout: Habit.entity.layout)
            try planter.mirror { try $0.put(entity: 0, id: habit.id, record) }
        }
            + inBoth("a record that the mirror lost", [.contents(entry, nil)]) { planter, _ in
                try planter.mirror { try $0.remove(entity: 1, id: entry.id) }
            }
            + inBoth("a record that the mirror doubled", [.contents("Entry", unknown)]) { planter, _ in
                let values = try [.uuid(unknown)] + entry.values.dropFirst()
                let record = try EncodedRecord(values, layout: Entry.entity.layout)
                try planter.mirror { try $0.put(entity: 1, id: unknown, record) }
            }
    }
}
