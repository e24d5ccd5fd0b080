import Foundation
@_spi(Engines) import HabitStore
import HabitTracker
import RawStoreFiles

extension PlantedChange {
    private typealias Sample = ChangedContents

    /// Declarations that change what SQLite does and are not a store's.
    static let definitions: [PlantedChange] = {
        var all: [PlantedChange] = []
        all += additions
        all += redeclarations
        all += rebuilds
        return all
    }()

    private static let additions: [PlantedChange] = {
        var all: [PlantedChange] = []
        for table in ["Habit", "Entry", "Tag", "Draft", "history_change", "habitstore_metadata"] {
            let changes: [(String, String)] = [
                (
                    "a trigger that drops what is inserted into \(table)",
                    "CREATE TRIGGER t BEFORE INSERT ON \(table) BEGIN SELECT raise(ignore); END"
                ),
                (
                    "a trigger that follows a deletion from \(table)",
                    "CREATE TRIGGER t AFTER DELETE ON \(table) BEGIN DELETE FROM Draft; END"
                ),
                ("a view of \(table)", "CREATE VIEW v AS SELECT * FROM \(table)"),
                ("a further column of \(table)", "ALTER TABLE \(table) ADD COLUMN extra TEXT"),
                (
                    "a view instead of \(table)",
                    "ALTER TABLE \(table) RENAME TO r; CREATE VIEW \(table) AS SELECT * FROM r"
                ),
            ]
            all += changes.map { sql(.definitions, $0, .refusal, $1) }
        }
        all += pairs([
            (
                "a trigger that changes what was inserted",
                "CREATE TRIGGER t AFTER INSERT ON Entry BEGIN UPDATE Entry SET note = 'x' WHERE id = new.id; END"
            ),
            ("a further table", "CREATE TABLE extra (a)"),
            (
                "a view that leads to itself",
                """
                ALTER TABLE Tag RENAME TO r;
                CREATE VIEW Tag AS WITH RECURSIVE n(id) AS (SELECT x'00' UNION ALL SELECT id FROM n) SELECT id, 'x' name FROM n
                """
            ),
        ]).map { sql(.definitions, $0, .refusal, $1) }
        return all
    }()

    /// Text columns with other collations and constraints, and clauses that only the text of a declaration shows.
    private static let redeclarations: [PlantedChange] = {
        var all: [PlantedChange] = []
        all += triples([
            ("Habit", "name", " NOT NULL"), ("Habit", "category", ""), ("Habit", "unit", ""), ("Entry", "note", ""),
            ("Tag", "name", " NOT NULL"), ("Draft", "content", " NOT NULL"),
        ]).flatMap { table, column, rest in
            pairs([
                (" COLLATE NOCASE", "text that ignores case"), (" COLLATE RTRIM", "text that ignores blanks"),
                (" CHECK (length(\(column)) < 1000)", "a check"), (" DEFAULT 'x'", "a default"),
            ]).map { clause, name in
                let old = "\"\(column)\" TEXT\(rest)"
                return declared("\(table).\(column): \(name)", table, old, old + clause)
            }
        }
        all += [
            declared("Tag.name may be missing", "Tag", "\"name\" TEXT NOT NULL", "\"name\" TEXT"),
            declared("Entry.value as an integer", "Entry", "\"value\" REAL", "\"value\" INTEGER"),
            declared("Habit.streak as a text", "Habit", "\"streak\" INTEGER", "\"streak\" TEXT"),
            declared(
                "a generated note",
                "Entry",
                "\"note\" TEXT",
                "\"note\" TEXT GENERATED ALWAYS AS (habitID) VIRTUAL"
            ),
            declared(
                "a foreign key",
                "Entry",
                "\"habitID\" BLOB",
                "\"habitID\" BLOB REFERENCES Habit(id) ON DELETE CASCADE"
            ),
            declared(
                "a conflict that is ignored",
                "Entry",
                "PRIMARY KEY NOT NULL",
                "PRIMARY KEY ON CONFLICT IGNORE NOT NULL"
            ),
            declared("a descending key", "Entry", "PRIMARY KEY NOT NULL", "PRIMARY KEY DESC NOT NULL"),
            declared("links by their targets", "Habit_tagIDs", "(owner, target)\n", "(target, owner)\n"),
            declared("a time that may be missing", "history_transaction", "timestamp REAL NOT NULL", "timestamp REAL"),
            declared(
                "bookkeeping that ignores case",
                "habitstore_metadata",
                "key TEXT PRIMARY KEY",
                "key TEXT COLLATE NOCASE PRIMARY KEY"
            ),
            declared("digests without a number", "habitstore_digest", "count INTEGER NOT NULL", "count INTEGER"),
        ]
        return all
    }()

    private static func declared(_ name: String, _ table: String, _ old: String, _ new: String) -> PlantedChange {
        PlantedChange(part: .definitions, name: name, engine: .sqlite, answer: .refusal) {
            try $0.withDatabase { try $0.redeclare(table, old, as: new) }
        }
    }

    /// Recreated tables, with contents that a store's tables cannot hold.
    private static let rebuilds: [PlantedChange] = {
        var all: [PlantedChange] = []
        all += ["Habit", "Entry", "Tag", "Draft"].flatMap { table in
            [
                rebuilt("\(table) takes any type", table, "STRICT, WITHOUT ROWID", "WITHOUT ROWID"),
                rebuilt("\(table) with row numbers", table, "STRICT, WITHOUT ROWID", "STRICT"),
            ]
        }
        all += [
            rebuilt(
                "a further column that has to have a value",
                "Tag",
                "\"name\" TEXT NOT NULL",
                "\"name\" TEXT NOT NULL, extra TEXT NOT NULL DEFAULT 'x'"
            ),
            rebuilt("unique names of tags", "Tag", "\"name\" TEXT NOT NULL", "\"name\" TEXT NOT NULL UNIQUE"),
            rebuilt(
                "a value in any form",
                "Entry",
                "\"value\" REAL",
                "\"value\" NUMERIC",
                "STRICT, WITHOUT ROWID",
                "WITHOUT ROWID"
            ),
            rebuilt(
                "a link twice",
                "Habit_tagIDs",
                ",\n  PRIMARY KEY (owner, target)\n) STRICT, WITHOUT ROWID",
                ") STRICT",
                then: "INSERT INTO Habit_tagIDs SELECT * FROM Habit_tagIDs LIMIT 1"
            ),
            rebuilt(
                "an entry twice",
                "Entry",
                "PRIMARY KEY NOT NULL",
                "NOT NULL",
                "STRICT, WITHOUT ROWID",
                "STRICT",
                then: "INSERT INTO Entry SELECT * FROM Entry LIMIT 1"
            ),
            rebuilt(
                "a tag without an identifier",
                "Tag",
                "PRIMARY KEY NOT NULL",
                "",
                "STRICT, WITHOUT ROWID",
                "STRICT",
                then: "INSERT INTO Tag VALUES (NULL, 'x')"
            ),
            rebuilt(
                "a key of the bookkeeping twice",
                "habitstore_metadata",
                "key TEXT PRIMARY KEY",
                "key TEXT",
                "STRICT, WITHOUT ROWID",
                "STRICT",
                then: "INSERT INTO habitstore_metadata VALUES ('epoch', '5'), ('epoch', '6')"
            ),
            rebuilt(
                "an author that is not text",
                "history_transaction",
                "author TEXT",
                "author",
                ") STRICT",
                ")",
                then: "UPDATE history_transaction SET author = x'617070'"
            ),
            rebuilt(
                "a time that is not a number",
                "history_transaction",
                "timestamp REAL",
                "timestamp",
                ") STRICT",
                ")",
                then: "UPDATE history_transaction SET timestamp = 'abc'"
            ),
        ]
        return all
    }()

    private static func rebuilt(
        _ name: String,
        _ table: String,
        _ replacements: String...,
        then sql: String = ""
    ) -> PlantedChange {
        PlantedChange(part: .definitions, name: name, engine: .sqlite, answer: .refusal) { pair in
            try pair.withDatabase { database in
                try database.rebuild(table) { declaration in
                    stride(from: 0, to: replacements.count, by: 2).reduce(declaration) {
                        $0.replacingOccurrences(of: replacements[$1], with: replacements[$1 + 1])
                    }
                }
                try database.execute(sql)
            }
        }
    }

    /// Each index with another declaration.
    static let indexes: [PlantedChange] = {
        var all: [PlantedChange] = []
        all += triples([
            ("Habit_by_name", "Habit", "name"), ("Habit_by_category", "Habit", "category"),
            ("Habit_by_createdAt", "Habit", "createdAt"), ("Entry_by_date", "Entry", "date"),
            ("Tag_by_name", "Tag", "name"),
            ("Draft_by_creationDate", "Draft", "creationDate"),
        ]).flatMap { index, table, column in
            let changes: [(String, String?, Answer)] = [
                ("dropped", nil, Answer.stated(.missingIndex)),
                ("over a part", "\(table) (\(column), id) WHERE id > x''", .refusal),
                ("over another column", "\(table) (id, \(column))", .refusal),
                ("that ignores case", "\(table) (\(column) COLLATE NOCASE, id)", .refusal),
                ("descending", "\(table) (\(column) DESC, id DESC)", .refusal),
                ("over an expression", "\(table) (lower(\(column)), id)", .refusal),
                ("over zeroes", "\(table) (zeroblob(length(\(column))), id)", .refusal),
                ("over another table", "habitstore_metadata (value)", .refusal),
                ("without the identifier", "\(table) (\(column))", .refusal),
            ]
            return changes.map { name, columns, answer in
                sql(
                    .indexes,
                    "\(index) \(name)",
                    answer,
                    "DROP INDEX \(index);" + (columns.map { "CREATE INDEX \(index) ON \($0)" } ?? "")
                )
            }
        }
        all += rows([
            ("a unique index", "DROP INDEX Tag_by_name; CREATE UNIQUE INDEX Tag_by_name ON Tag (name)", .refusal),
            (
                "links by their owners",
                """
                DROP INDEX Habit_tagIDs_by_target;
                CREATE INDEX Habit_tagIDs_by_target ON Habit_tagIDs (owner, target)
                """, .refusal
            ),
            (
                "a clustering index without copies",
                """
                DROP INDEX Entry_by_habitID_date;
                CREATE INDEX Entry_by_habitID_date ON Entry (habitID, date, id)
                """, .stated(.missingIndex)
            ),
            ("a further index", "CREATE INDEX foo ON Entry (note)", .refusal),
            ("a further unique index", "CREATE UNIQUE INDEX foo ON Entry (habitID, date, id)", .refusal),
        ]).map { sql(.indexes, $0, $2, $1) }
        all += ["Entry_by_date", "Habit_by_name", "Tag_by_name", "Entry_by_habitID_date"].map { index in
            PlantedChange(part: .indexes, name: "\(index) without an entry", engine: .sqlite, answer: .damage) {
                let planter = $0.planter(.sqlite)
                switch index {
                case "Habit_by_name": try planter.dropIndexEntries("Habit", ["name"], of: Sample.run)
                case "Tag_by_name": try planter.dropIndexEntries("Tag", ["name"], of: Sample.home)
                case "Entry_by_date": try planter.dropIndexEntries("Entry", ["date"], of: Sample.firstEntry)
                default: try planter.dropIndexEntries("Entry", ["habitID", "date"], of: Sample.firstEntry)
                }
            }
        }
        return all
    }()

    /// The SQLite file as a whole.
    static let files: [PlantedChange] = {
        var all: [PlantedChange] = []
        all += rows([
            (
                "statistics that are wrong", "ANALYZE; UPDATE sqlite_stat1 SET stat = '1 1 1'",
                Answer.stated(.statistics)
            ),
            ("another kind of file", "PRAGMA application_id = 1", .refusal),
            ("a later format", "PRAGMA user_version = 2", .refusal),
            ("a format below the first", "PRAGMA user_version = -1", .refusal),
            ("no log", "PRAGMA journal_mode = DELETE", .stated(.pages)),
            ("pages of 512 bytes", "PRAGMA journal_mode = DELETE; PRAGMA page_size = 512; VACUUM", .stated(.pages)),
            ("pages of 64 KiB", "PRAGMA journal_mode = DELETE; PRAGMA page_size = 65536; VACUUM", .stated(.pages)),
        ]).map { sql(.definitions, $0, $2, $1) }
        all += ["UTF-16le", "UTF-16be"].map { encoding in
            PlantedChange(part: .definitions, name: encoding, engine: .sqlite, answer: .refusal) { pair in
                let other = pair.folder.path("other")
                try pair.withDatabase { try $0.copy(to: other, encoding: encoding) }
                try FileManager.default.removeItem(atPath: pair.path(.sqlite))
                try FileManager.default.moveItem(atPath: other, toPath: pair.path(.sqlite))
            }
        }
        all += [
            PlantedChange(part: .values, name: "a change that is only in the log", engine: .sqlite, answer: .damage) {
                pair in
                let path = pair.path(.sqlite)
                try pair.withDatabase { database in
                    try database.execute(
                        "PRAGMA wal_autocheckpoint = 0; UPDATE Habit SET streak = 999 WHERE name = 'Run'"
                    )
                    for suffix in ["", "-wal"] {
                        try FileManager.default.copyItem(atPath: path + suffix, toPath: path + ".kept" + suffix)
                    }
                }
                for suffix in ["", "-wal"] {
                    if FileManager.default.fileExists(atPath: path + suffix) {
                        try FileManager.default.removeItem(atPath: path + suffix)
                    }
                    try FileManager.default.moveItem(atPath: path + ".kept" + suffix, toPath: path + suffix)
                }
            }
        ]
        return all
    }()
}
