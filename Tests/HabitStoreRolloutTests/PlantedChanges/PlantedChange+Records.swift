import Foundation

@_spi(Engines) @testable import HabitStore

extension PlantedChange {
    private typealias Sample = ChangedContents

    /// Records that are lost, doubled, or under another identifier.
    static let records: [PlantedChange] = {
        let entry = Sample.entries[0]
        let ids: [(String, UUID)] = [
            ("Habit", Sample.read), ("Entry", Sample.firstEntry), ("Entry", Sample.lastEntry), ("Tag", Sample.zeal),
            ("Draft", Sample.album),
        ]
        return ids.flatMap { entity, id in
            inBoth(.records, "\(entity) \(id.short) lost", .difference) { try $0.remove(entity, id) }
        }
            + inBoth(.records, "an entry doubled", .difference) { planter in
                try planter.insert("Entry", [.uuid(Sample.nobody)] + entry.values.dropFirst())
            }
            + inBoth(.records, "an entry under another identifier", .difference) { planter in
                try planter.remove("Entry", entry.id)
                try planter.insert("Entry", [.uuid(Sample.nobody)] + entry.values.dropFirst())
            }
            + inBoth(.records, "two tags of one name", .difference) { planter in
                try planter.change("Tag", Sample.home, ["name": .string("health")])
            }
            + inBoth(.records, "two entries in each other's place", .difference) { planter in
                let other = Sample.entries[2]
                try planter.change("Entry", entry.id, ["date": .date(other.date), "note": .string(other.note ?? "")])
                try planter.change("Entry", other.id, ["date": .date(entry.date), "note": .null])
            }
    }()

    /// Links that are lost, added, or lead nowhere.
    static let links: [PlantedChange] = {
        var all: [PlantedChange] = []
        let others: [(String, [UUID])] = [
            ("lost", [Sample.home]), ("all lost", []), ("added", [Sample.home, Sample.health, Sample.zeal]),
            ("to another", [Sample.home, Sample.zeal]), ("to a missing record", [Sample.home, Sample.nobody]),
        ]
        all += others.flatMap { name, links in
            inBoth(.links, name, .difference) { try $0.change("Habit", Sample.run, ["tagIDs": .links(links)]) }
        }
        let wrong: [(String, [UUID])] = [
            ("in another order", [Sample.health, Sample.home]),
            ("doubled", [Sample.home, Sample.health, Sample.health]),
        ]
        all += wrong.map { name, links in
            PlantedChange(part: .links, name: name, engine: .lmdb, answer: .damage) {
                try $0.planter(.lmdb).change("Habit", Sample.run, ["tagIDs": .links(links)])
            }
        }
        all += pairs([
            (
                "of a habit that is not there",
                "INSERT INTO Habit_tagIDs VALUES (\(Sample.nobody.sql), \(Sample.home.sql))"
            ),
            ("of an owner of three bytes", "INSERT INTO Habit_tagIDs VALUES (x'000001', \(Sample.home.sql))"),
            ("to a target of three bytes", "INSERT INTO Habit_tagIDs VALUES (\(Sample.read.sql), x'000001')"),
        ]).map { sql(.links, $0, .damage, $1) }
        return all
    }()

    /// Lists of texts.
    static let lists: [PlantedChange] = {
        var all: [PlantedChange] = []
        let others: [(String, [String])] = [
            ("in another order", ["route.gpx", "photo.jpg"]), ("one lost", ["photo.jpg"]), ("all lost", []),
            ("one empty", ["photo.jpg", "route.gpx", ""]), ("one doubled", ["photo.jpg", "photo.jpg", "route.gpx"]),
            ("joined", ["photo.jpg,route.gpx"]), ("with a quote", ["photo.jpg\"", "route.gpx"]),
            ("cut", ["photo.jp", "groute.gpx"]),
        ]
        all += others.flatMap { name, texts in
            inBoth(.lists, name, .difference) { try $0.change("Draft", Sample.album, ["attachments": .strings(texts)]) }
        }
        all += rows([
            ("written with blanks", " [ \"photo.jpg\" , \"route.gpx\" ] ", Answer.stated(.otherSpelling)),
            ("written with escapes", "[\"photo\\u002ejpg\",\"route\\u002Egpx\"]", .stated(.otherSpelling)),
            ("with half of a character", "[\"\\ud800\",\"route.gpx\"]", .damage),
            ("with something after it", "[\"photo.jpg\",\"route.gpx\"] x", .damage),
            ("with a number", "[\"photo.jpg\",1]", .damage), ("with null", "[\"photo.jpg\",null]", .damage),
            ("an object", "{}", .damage), ("nothing", "", .damage), ("a text", "\"photo.jpg\"", .damage),
            ("without its end", "[\"photo.jpg\"", .damage),
            ("100,000 deep", String(repeating: "[", count: 100_000) + String(repeating: "]", count: 100_000), .damage),
        ]).map { name, text, answer in
            sql(
                .lists,
                name,
                answer,
                "UPDATE Draft SET attachments = '\(text)' WHERE id = \(Sample.album.sql)"
            )
        }
        return all
    }()

    /// Texts that are invalid, or in another Unicode form.
    static let texts: [PlantedChange] = {
        var all: [PlantedChange] = []
        let others: [(String, String)] = [
            ("a byte that no text has", "52ff6e"), ("half of a pair", "eda080"), ("a NUL in two bytes", "c080"),
            ("cut within a character", "43616fcc"), ("beyond what there is", "f4908080"),
        ]
        let places: [(String, String, UUID)] = [
            ("Habit", "name", Sample.run), ("Habit", "unit", Sample.run), ("Tag", "name", Sample.zeal),
        ]
        for (name, bytes) in others {
            all += places.map { entity, attribute, id in
                let update = "UPDATE \(entity) SET \(attribute) = CAST(x'\(bytes)' AS TEXT) WHERE id = \(id.sql)"
                return sql(.texts, "\(entity).\(attribute), \(name)", .damage, update)
            }
            let text = stride(from: 0, to: bytes.count, by: 2).compactMap {
                UInt8(bytes.dropFirst($0).prefix(2), radix: 16)
            }
            all += [
                lmdb(.texts, "Habit.name, \(name)", .damage) { transaction in
                    try transaction.edit("Habit", Sample.run) { record in
                        guard let place = record.place(of: Array("Run".utf8)) else { return }
                        record.replaceSubrange(place..<place + 3, with: Array((text + [0x80]).prefix(3)))
                    }
                }
            ]
        }
        all += inBoth(.texts, "a decomposed name", .damage) { planter in
            try planter.change("Habit", Sample.cafe, ["name": .string("Cafe\u{301}-free day")])
        }.flatMap { [$0, $0.withFittingDigests] }
        return all
    }()
}
