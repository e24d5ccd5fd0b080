import Foundation
@_spi(Engines) import HabitStore
import HabitTracker

extension PlantedFault {
    /// One flipped bit in a value of each kind of attribute in the schema.
    static func flippedBits(_ contents: PlantedContents) -> [PlantedFault] {
        let (habit, entry, draft) = (contents.habits[4], contents.entries[101], contents.drafts[0])
        let measured = contents.entries[202]
        let seconds = entry.date.timeIntervalSinceReferenceDate
        let flipped = Date(timeIntervalSinceReferenceDate: Double(bitPattern: seconds.bitPattern ^ 1 << 22))
        let number = Double(bitPattern: (measured.value ?? 0).bitPattern ^ 1 << 50)
        let reference = entry.habitID?.withFlippedBit
        let links = contents.habits[3].tagIDs.sorted { $0.isBefore($1) }
        return value("a flipped bit of a Boolean", habit, "isArchived", .bool(!habit.isArchived))
            + value("a flipped bit of an integer", habit, "streak", .int(Int64(habit.streak) ^ 1 << 3))
            + value("a flipped bit of a double", measured, "value", .double(number))
            + value("a flipped bit of a date", entry, "date", .date(flipped))
            + value("a flipped bit of a reference", entry, "habitID", reference.map(Value.uuid) ?? .null)
            // 0x65 is `e`, 0x64 is `d`.
            + value("a flipped bit of a text", contents.habits[5], "name", .string("Strdtch"))
            + value("a flipped bit of an optional text", contents.entries[5], "note", .string("note 4"))
            + value("a flipped bit of a text in a list", draft, "attachments", .strings(["photo.jpg", "c.png"]))
            + value(
                "a flipped bit of a link",
                contents.habits[3],
                "tagIDs",
                .links([links[0].withFlippedBit] + links.dropFirst())
            )
    }

    /// Numbers and dates that are nearly right.
    static func numbers(_ contents: PlantedContents) -> [PlantedFault] {
        let (entry, target) = (contents.entries[7], contents.habits[10])
        let seconds = entry.date.timeIntervalSinceReferenceDate
        let late = contents.habits[7]
        let zero = contents.entries[5]
        return value(
            "a date off by one ulp",
            entry,
            "date",
            .date(Date(timeIntervalSinceReferenceDate: seconds.nextUp))
        )
            + value("a double off by one ulp", entry, "value", .double((entry.value ?? 0).nextDown))
            + value(
                "a double that went through 32 bits",
                target,
                "target",
                .double(Double(Float((target.target ?? 0) + 0.1)))
            )
            + value("the largest integer off by one", contents.habits[1], "streak", .int(.max - 1))
            + value("an integer off by one", contents.habits[2], "streak", .int(Int64(contents.habits[2].streak) + 1))
            + value(
                "a date without its fraction",
                entry,
                "date",
                .date(Date(timeIntervalSinceReferenceDate: seconds.rounded(.down)))
            )
            + value(
                "a date counted from 1970",
                entry,
                "date",
                .date(Date(timeIntervalSinceReferenceDate: seconds + 978_307_200))
            )
            + value("a date in local time", entry, "date", .date(Date(timeIntervalSinceReferenceDate: seconds + 7_200)))
            + value("the year 10000 for the year 9999", late, "createdAt", .date(late.createdAt.addingTimeInterval(1)))
            + value("0 for nil", contents.entries[3], "value", .double(0))
            + value("nil for 0", zero, "value", .null)
            + only([.lmdb, .postgres], "-0.0 for 0.0", [.contents(zero, "value")]) { planter, _ in
                try planter.change("Entry", zero.id, ["value": .double(-0.0)])
            }
    }

    /// Texts that are nearly right.
    static func texts(_ contents: PlantedContents) -> [PlantedFault] {
        let (none, empty, plain) = (contents.entries[16], contents.entries[10], contents.entries[9])
        let (accented, long) = (contents.entries[11], contents.entries[22])
        func note(_ name: String, _ entry: Entry, _ text: String?) -> [PlantedFault] {
            value(name, entry, "note", text.map(Value.string) ?? .null)
        }
        return note("nil for an empty text", empty, nil)
            + note("an empty text for nil", none, "")
            + note("`<null>` for nil", none, "<null>")
            + note("decomposed for precomposed text", accented, "cafe\u{301} au lait")
            + value("a decomposed name", contents.habits[4], "name", .string("A\u{30A}ngstro\u{308}m walk"))
            + note("a look-alike letter", plain, "l\u{430}te again")
            + note("a trailing blank", plain, "late again ")
            + note("another letter case", plain, "Late again")
            + note("a NUL byte at the end", plain, "late again\0")
            + note("a NUL byte within", plain, "late\0again")
            + note("an invisible character", plain, "late\u{200B} again")
            + note("a note cut after a two-byte character", long, String(PlantedContents.remark.prefix(7)))
            + note(
                "an emoji without its variation selector",
                long,
                String(PlantedContents.remark.unicodeScalars.filter { $0.value != 0xFE0F }.map(Character.init))
            )
            + note("another line ending", contents.entries[23], "first line\r\nsecond line")
            + note("Latin-1 read as UTF-8", accented, "cafÃ© au lait")
            + inEach(
                "an unreadable text",
                [Trace(level: "store checks", entity: "Entry", id: plain.id)]
            ) { planter, _ in try planter.damage("Entry", plain.id, "note") }
    }

    /// Lists of texts, and values in the neighbouring attribute.
    static func lists(_ contents: PlantedContents) -> [PlantedFault] {
        let (habit, drafts) = (contents.habits[2], contents.drafts)
        func list(_ name: String, _ number: Int, _ texts: [String]) -> [PlantedFault] {
            value(name, drafts[number], "attachments", .strings(texts))
        }
        return list("the order of texts in a list", 0, ["b.png", "photo.jpg"])
            + list("a list of an empty text for an empty list", 1, [""])
            + list("an empty list for a list of an empty text", 2, [])
            + list("two empty texts for one", 2, ["", ""])
            + list("one text in two pieces", 3, ["a", "b"])
            + list("a text cut at its comma", 4, ["a", "b", "c"])
            + list("a moved comma", 4, ["a", "b,c"])
            + list("a repeated text in a list only once", 5, ["photo.jpg", "café.png"])
            + list("a decomposed text in a list", 5, ["photo.jpg", "photo.jpg", "cafe\u{301}.png"])
            + inEach(
                "a shifted boundary between two attributes",
                [.contents(habit, "category"), .contents(habit, "unit")]
            ) { planter, _ in
                try planter.change("Habit", habit.id, ["category": .string("a"), "unit": .string("b|c")])
            }
            + inEach(
                "a value in a neighbouring attribute",
                [.contents(contents.habits[10], "category"), .contents(contents.habits[10], "unit")]
            ) { planter, contents in
                let habit = contents.habits[10]
                let (category, unit) = (habit.unit.map(Value.string), habit.category.map(Value.string))
                try planter.change("Habit", habit.id, ["category": category ?? .null, "unit": unit ?? .null])
            }
    }
}

extension UUID {
    /// The identifier with one bit of its ninth byte flipped, which no other record of the tests has.
    fileprivate var withFlippedBit: UUID {
        var bytes = uuid
        bytes.8 ^= 0x20
        return UUID(uuid: bytes)
    }
}
