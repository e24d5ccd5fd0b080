import Foundation
import HabitTracker
import RawStoreFiles

@_spi(Engines) @testable import HabitStore

extension PlantedChange {
    private typealias Sample = ChangedContents

    /// Record bytes in LMDB that no value is written as, or that cannot be read.
    static let recordBytes: [PlantedChange] = {
        var all: [PlantedChange] = []
        all += ["Habit", "Entry", "Tag", "Draft"].flatMap { entity in
            edits.map { name, edit in
                lmdb(.bytes, "\(entity), \(name)", .damage) { transaction in
                    guard let key = try transaction.items(entity).first?.key else { return }
                    try transaction.edit(entity, key.id, edit)
                }
            }
                + [
                    lmdb(.bytes, "\(entity), another checksum", .damage) { transaction in
                        guard var (key, value) = try transaction.items(entity).first else { return }
                        value[4] ^= 1
                        try transaction.put(entity, key, value)
                    },
                    lmdb(.bytes, "\(entity), under another key", .damage) { transaction in
                        guard let item = try transaction.items(entity).first else { return }
                        try transaction.put(entity, [UInt8](repeating: 0, count: 16), item.value)
                    },
                    lmdb(.bytes, "\(entity), under a key of 15 bytes", .damage) { transaction in
                        guard let item = try transaction.items(entity).first else { return }
                        try transaction.put(entity, Array(item.key.dropLast()), item.value)
                    },
                ]
        }
        all += extremes(of: "Habit", id: Sample.run)
        all += extremes(of: "Draft", id: Sample.album)
        all += [
            lmdb(.bytes, "a null slot that is not zero", .damage) { transaction in
                try transaction.edit("Habit", Sample.cafe) { $0[RawRecord.offset("target", in: Habit.entity)] = 7 }
            },
            lmdb(.bytes, "a gap before the variable parts", .damage) { transaction in
                try transaction.edit("Habit", Sample.run) { RawRecord.layOut(&$0, Habit.entity.layout, gap: 8) }
            },
            lmdb(.bytes, "the variable parts in another order", .damage) { transaction in
                try transaction.edit("Habit", Sample.run) {
                    RawRecord.layOut(&$0, Habit.entity.layout, isReversed: true)
                }
            },
        ]
        all += [("2^32 - 1 texts of a list", 0), ("2^32 - 1 bytes of a text in a list", 4)].map { name, offset in
            lmdb(.bytes, name, .damage) { transaction in
                try transaction.edit("Draft", Sample.album) { record in
                    let list = RawRecord.number(UInt32(2)) + RawRecord.number(UInt32(9))
                    guard let place = record.place(of: list).map({ $0 + offset }) else { return }
                    record.replaceSubrange(place..<place + 4, with: RawRecord.number(UInt32.max))
                }
            }
        }
        return all
    }()

    private static let edits: [(String, @Sendable (inout [UInt8]) -> Void)] = [
        ("bytes after it", { $0 += Array("evil".utf8) }), ("without its last byte", { $0.removeLast() }),
        ("a further bit of the bitmap", { $0[RecordLayout.headerSize + ($0[2] > 8 ? 1 : 0)] |= 0x80 }),
        ("version 2", { $0[0] = 2 }), ("version 0", { $0[0] = 0 }), ("version 255", { $0[0] = 255 }),
        ("a second byte", { $0[1] = 1 }), ("one attribute more", { $0[2] += 1 }),
        ("65,535 attributes", { $0.replaceSubrange(2..<4, with: [0xFF, 0xFF]) }), ("no attributes", { $0[2] = 0 }),
        ("its header only", { $0 = Array($0.prefix(8)) }), ("seven bytes", { $0 = Array($0.prefix(7)) }),
        ("nothing", { $0 = [] }),
        ("all values missing", { $0[RecordLayout.headerSize] = 0xFF }),
    ]

    private static let slots: [(place: UInt32, length: UInt32)] = [
        (.max, .max), (0, .max), (.max, 0), (0, 3), (1 << 31, 1 << 31), (8, 20),
    ]

    /// Extreme positions and lengths of each variable part.
    private static func extremes(of entity: String, id: UUID) -> [PlantedChange] {
        guard let description = HabitSchema.current.entities.first(where: { $0.name == entity }) else { return [] }
        return description.attributes.filter { [.string, .strings, .links].contains($0.kind) }.flatMap { attribute in
            slots.map { place, length in
                lmdb(.bytes, "\(entity).\(attribute.name) at \(place), \(length) long", .damage) { transaction in
                    try transaction.edit(entity, id) { record in
                        let slot = RawRecord.offset(attribute.name, in: description)
                        record.replaceSubrange(
                            slot..<slot + 8,
                            with: RawRecord.number(place) + RawRecord.number(length)
                        )
                    }
                }
            }
        }
    }

    /// Index entries in LMDB that do not match the records.
    static let lmdbIndexes: [PlantedChange] = {
        var all: [PlantedChange] = []
        all += [
            "Habit.name", "Habit.category", "Habit.createdAt", "Habit.tagIDs", "Entry.habitID+date", "Entry.date",
            "Tag.name",
            "Draft.creationDate",
        ].flatMap { index in
            [
                lmdb(.indexes, "\(index), one lost", .damage) { transaction in
                    guard let item = try transaction.items(index).first else { return }
                    try transaction.remove(index, item.key)
                },
                lmdb(.indexes, "\(index), one added", .damage) { transaction in
                    guard let item = try transaction.items(index).first else { return }
                    try transaction.put(index, item.key.dropLast(16) + Sample.nobody.rawBytes, item.value)
                },
                lmdb(.indexes, "\(index), another value", .damage) { transaction in
                    guard let item = try transaction.items(index).first else { return }
                    try transaction.put(index, item.key, Array("x".utf8))
                },
                lmdb(.indexes, "\(index), all lost", .damage) { try $0.removeAll(index) },
                lmdb(.indexes, "\(index), a key of one byte", .damage) { try $0.put(index, [1], []) },
                lmdb(.indexes, "\(index), a key of 20 bytes", .damage) {
                    try $0.put(index, [UInt8](repeating: 1, count: 20), [])
                },
                lmdb(.indexes, "\(index), two in each other's place", .damage) { transaction in
                    let items = try transaction.items(index)
                    guard let first = items.first, let last = items.last else { return }
                    try transaction.remove(index, first.key)
                    try transaction.put(index, first.key.dropLast(16) + last.key.suffix(16), first.value)
                },
            ]
        }
        all += [
            lmdb(.indexes, "a copy of another record", .damage) { transaction in
                let items = try transaction.items("Entry.habitID+date")
                try transaction.put("Entry.habitID+date", items[0].key, items[1].value)
            },
            lmdb(.indexes, "a copy that is missing", .damage) { transaction in
                let items = try transaction.items("Entry.habitID+date")
                try transaction.put("Entry.habitID+date", items[0].key, [])
            },
            lmdb(.indexes, "an entry at another date", .damage) { transaction in
                let items = try transaction.items("Entry.date")
                try transaction.remove("Entry.date", items[0].key)
                try transaction.put("Entry.date", RawRecord.key(Sample.date(900), Sample.firstEntry), [])
            },
        ]
        return all
    }()

    /// Pages of an LMDB file that were damaged after the file had been found sound.
    static let rottenPages: [PlantedChange] = [
        "Habit", "Entry", "Tag", "Draft", "history", "digests", "Habit.name", "Habit.tagIDs", "Entry.date",
        "Entry.habitID+date", "Draft.creationDate",
    ].flatMap { database in
        RottenPage.allCases.map { damage in
            PlantedChange(
                part: .bytes,
                name: "\(database), a page with \(damage.rawValue), below a valid mark",
                engine: .lmdb,
                answer: .damage
            ) { pair in
                // Opened once, the file is walked and marked.
                try pair.address(.lmdb).open(.readWrite, schema: HabitSchema.current).close()
                try damage.plant(in: pair.path(.lmdb), database: database)
            }
        }
    }

    /// Whole databases of an LMDB file.
    static let databases: [PlantedChange] = {
        var all: [PlantedChange] = []
        all += [
            "metadata", "history", "digests", "Habit", "Entry", "Tag", "Draft", "Habit.name", "Habit.category",
            "Habit.createdAt",
            "Habit.tagIDs", "Entry.habitID+date", "Entry.date", "Tag.name", "Draft.creationDate",
        ].flatMap { name in
            let lost: Answer =
                name.contains(".") ? .stated(.missingIndex) : (name == "digests" ? .stated(.firstVersions) : .refusal)
            return [lmdb(.databases, "\(name) lost", lost) { try $0.drop(name) }]
                + RawTransaction.Form.allCases.filter { $0 != .ordinary }.map { form in
                    PlantedChange(part: .databases, name: "\(name) with \(form)", engine: .lmdb, answer: .refusal) {
                        try $0.remake(name, form)
                    }
                }
        }
        all += ["Habit.name", "Entry.date", "Entry.habitID+date"].map { name in
            PlantedChange(part: .databases, name: "\(name) with a value twice", engine: .lmdb, answer: .refusal) {
                pair in
                try pair.remake(name, .duplicates)
                try pair.write { transaction in
                    guard let item = try transaction.items(name).first else { return }
                    try transaction.put(name, item.key, Array("zz".utf8))
                }
            }
        }
        all += [1, 10_000].map { length in
            lmdb(.databases, "a record of \(length) bytes among the databases", .damage) {
                try $0.put(RawTransaction.main, Array("stray".utf8), [UInt8](repeating: 1, count: length))
            }
        }
        all += [
            lmdb(.databases, "a further database", .stated(.furtherDatabases)) { transaction in
                try transaction.make("Foo")
                try transaction.put("Foo", [1], [2])
            },
            lmdb(.databases, "a database of an index that is not declared", .stated(.furtherDatabases)) { transaction in
                try transaction.make("Habit.streak")
            },
        ]
        return all
    }()

    /// The same fault in both files.
    static let inBothFiles: [PlantedChange] = {
        var all: [PlantedChange] = []
        all += [
            both("a decomposed name", .damage) { pair in
                for planter in pair.planters { try planter.change("Habit", Sample.cafe, decomposed) }
            },
            both("a decomposed name, in stores that do not normalize", .difference) { pair in
                for planter in pair.planters { try planter.change("Habit", Sample.cafe, decomposed) }
                try pair.forgetTextForm()
            },
            both("a decomposed name in SQLite, in stores that do not normalize", .stated(.otherForms)) { pair in
                try pair.planter(.sqlite).change("Habit", Sample.cafe, decomposed)
                try pair.forgetTextForm()
            },
            both("a decomposed name in LMDB, in stores that do not normalize", .difference) { pair in
                try pair.planter(.lmdb).change("Habit", Sample.cafe, decomposed)
                try pair.forgetTextForm()
            },
            both("a decomposed text in a list", .damage) { pair in
                for planter in pair.planters {
                    try planter.change("Draft", Sample.album, ["attachments": .strings(["photo.jpg", "e\u{301}"])])
                }
            },
            both("truth values that are none", .damage) { pair in
                try pair.run("UPDATE Habit SET isArchived = 2 WHERE id = \(Sample.run.sql)")
                try pair.write { transaction in
                    try transaction.edit("Habit", Sample.run) {
                        $0[RawRecord.offset("isArchived", in: Habit.entity)] = 50
                    }
                }
            },
            both("a name that is missing", .damage) { pair in
                try pair.withDatabase { database in
                    try database.rebuild("Habit") {
                        $0.replacingOccurrences(of: "\"name\" TEXT NOT NULL", with: "\"name\" TEXT")
                    }
                    try database.execute("UPDATE Habit SET name = NULL WHERE id = \(Sample.run.sql)")
                }
                try pair.planter(.lmdb).change("Habit", Sample.run, ["name": .null])
            },
            both("a name that is not text", .damage) { pair in
                try pair.run("UPDATE Habit SET name = CAST(x'c08061' AS TEXT) WHERE id = \(Sample.run.sql)")
                try pair.write { transaction in
                    try transaction.edit("Habit", Sample.run) { record in
                        guard let place = record.place(of: Array("Run".utf8)) else { return }
                        record.replaceSubrange(place..<place + 3, with: [0xC0, 0x80, 0x61])
                    }
                }
            },
            both("a transaction at the greatest token", .damage) { pair in
                try pair.run("INSERT INTO history_transaction VALUES (9223372036854775807, 0, NULL)")
                try pair.write {
                    let key = [0x7F] + [UInt8](repeating: 0xFF, count: 7) + [UInt8](repeating: 0, count: 4)
                    try $0.put("history", key, [UInt8](repeating: 0, count: 13))
                }
            },
        ]
        all += againstHistory.flatMap { [$0, $0.withFittingDigests] }
        let tokens: [(Int64, Int64)] = [
            (1_000_000_000_000, 1), (100_000_000, 1), (Int64.max - 10, 1), (Int64.max - 10, Int64.max - 1_000),
            (Int64.max, Int64.max),
        ]
        all += tokens.map {
            last,
            floor in
            both("the last token \(last), the floor \(floor)", .damage) { pair in
                for planter in pair.planters {
                    try planter.setBookkeeping("lastToken", "\(last)")
                    try planter.setBookkeeping("historyFloor", "\(floor)")
                }
            }
        }
        return all
    }()

    /// Both files are equal, but contradict their history.
    private static let againstHistory: [PlantedChange] = [
        both("an entry lost", .difference) { pair in
            for planter in pair.planters { try planter.remove("Entry", Sample.firstEntry) }
        },
        both("a draft lost", .difference) { pair in
            for planter in pair.planters { try planter.remove("Draft", Sample.album) }
        },
        both("an entry that was deleted", .difference) { pair in
            for planter in pair.planters {
                try planter.insert("Entry", [.uuid(Sample.gone.id)] + Sample.gone.values.dropFirst())
            }
        },
    ]

    private static let decomposed: [String: Value] = ["name": .string("Cafe\u{301}-free day")]
}

extension ChangedPair {
    fileprivate var planters: [any FaultPlanter] { [planter(.sqlite), planter(.lmdb)] }

    /// Makes both claim a version that did not normalize text.
    fileprivate func forgetTextForm() throws {
        try run("DELETE FROM habitstore_metadata WHERE key = 'textForm'")
        try write { try $0.setText("textForm", nil) }
    }

    /// Recreates a database in another form; a value that does not fit is cut.
    fileprivate func remake(_ name: String, _ form: RawTransaction.Form) throws {
        var items: [RawTransaction.Item] = []
        try write { transaction in
            items = try transaction.items(name)
            try transaction.drop(name)
        }
        try write { transaction in
            try transaction.make(name, form)
            // LMDB limits sorted values to 511 bytes.
            for item in items { try transaction.put(name, item.key, Array(item.value.prefix(511))) }
        }
    }
}

extension [UInt8] {
    /// The identifier with these 16 bytes.
    fileprivate var id: UUID { withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) } }
}
