import Foundation
import HabitStoreTesting
import JSONText
import RawStoreFiles
import Testing

@_spi(Engines) @testable import HabitStore
@testable import HabitStoreImport

/// A mapping says what becomes of each table, column and value, or nothing is imported.
@Suite(.timeLimit(.minutes(5))) struct LedgerMappingTests {
    private func findings(_ mapping: TableMapping, _ sql: String = "") throws -> [MappingFinding] {
        try mapping.check(try LedgerFile(sql).file(), schema: LedgerFile.schema).findings
    }

    @Test func aMappingThatSaysEverythingIsClean() throws {
        let report = try LedgerFile.mapping().check(try LedgerFile().file(), schema: LedgerFile.schema)
        #expect(report.isClean, "\(report.findings)")
        #expect(report.tables.map(\.rows) == [3, 2, 2, 0])
        #expect(
            report.leftAlone.keys.sorted() == [
                "search", "search_config", "search_data", "search_docsize", "search_idx", "total",
            ]
        )
        // A reference to an account that is not there stays as it is, and is said.
        let parents = try #require(report.tables.first?.values.first { $0.name == "parentID" })
        #expect((parents.values, parents.nulls, parents.dangling.count) == (2, 1, 1))
        #expect(parents.dangling.keys == ["3 (9)"])
        let days = report.tables.flatMap(\.values).first { $0.name == "day" }?.dates
        #expect(days == Date(timeIntervalSince1970: 1_700_000_000)...Date(timeIntervalSince1970: 1_700_086_400))
        #expect(report.tables.last?.table == "grdb_migrations" && report.tables.last?.entity == nil)
    }

    static let mistakes: [(String, String, String)] = [
        (
            "\"title\": \"title\"", "\"titel\": \"title\"",
            #"3:19: Account has no attribute "titel"; did you mean "title"?"#
        ),
        ("\"column\": \"day\"", "\"column\": \"dya\"", #"booking has no column "dya"; did you mean "day"?"#),
        (
            "\"entity\": \"Label\"", "\"entity\": \"Labels\"",
            #"the schema has no entity "Labels"; did you mean "Label"?"#
        ),
        ("\"table\": \"label\"", "\"table\": \"lable\"", #"the file has no table "lable"; did you mean "label"?"#),
        (", \"isHidden\": \"isHidden\"", "", "Account.isHidden needs a value"),
        ("\"form\": \"date grdb\"", "\"form\": \"uuid\"", "the form uuid is none of openedAt, a date"),
        (
            "{\"column\": \"day\", \"form\": \"seconds 1970\"}", "\"day\"",
            "day is a date, which may be stored in several forms"
        ),
        ("\"rate\": \"rate\"", "\"rate\": {\"constant\": \"high\"}", "the constant does not fit rate, a number"),
        ("\"there\": [\"code\", \"region\"]", "\"there\": \"code\"", "label has a key of 2 columns, and this has 1"),
        ("\"note\": \"note\", ", "", "booking.note is neither mapped nor excluded"),
        (
            ",\n  {\"table\": \"grdb_migrations\", \"entity\": null}", "",
            #"the table "grdb_migrations" is neither mapped nor left out"#
        ),
        (
            "\"table\": \"label\",", "\"table\": \"label\", \"questions\": [\"which color?\"],",
            "label: an open question: which color?"
        ),
        (
            "\"table\": \"label\",", "\"table\": \"label\", \"excluded\": [\"color\"],",
            "label.color is both mapped and excluded"
        ),
    ]

    @Test(arguments: 0..<mistakes.count) func aMistakeIsNamedAtItsPlace(row: Int) throws {
        let (old, new, message) = Self.mistakes[row]
        let found = try findings(try LedgerFile.mapping((old, new))).map { finding in
            finding.line.flatMap { line in finding.column.map { "\(line):\($0): " } }.map { $0 + finding.message }
                ?? finding.message
        }
        #expect(found.contains { $0.contains(message) }, "\(found)")
    }

    static let values: [(String, String)] = [
        (
            "UPDATE account SET openedAt = '01.05.2019' WHERE id = 1",
            "account: 1 row (1 (01.05.2019)) have a value that is not openedAt, date grdb, for Account.openedAt"
        ),
        ("UPDATE booking SET day = 'soon' WHERE amount = 100", "that is not day, seconds 1970, for Booking.day"),
        ("UPDATE account SET isHidden = 2 WHERE id = 2", "account: 1 row (2 (2))"),
        ("UPDATE label SET name = NULL WHERE region = 2", "label: 1 row (food, 2 (NULL)) have a value"),
        (
            "UPDATE booking SET uid = 'none' WHERE amount = -7",
            "booking: 1 row (none) have no key that can be an identifier"
        ),
        (
            "INSERT INTO booking VALUES ('{6BA7B8109DAD11D180B400C04FD430C8}', 1, 1700000000, NULL, NULL, NULL)",
            "booking: 1 key (6ba7b8109dad11d180b400c04fd430c8) belong to more than one row"
        ),
        ("UPDATE booking SET note = CAST(x'ff' AS TEXT) WHERE amount = 100", "for Booking.note"),
    ]

    @Test(arguments: 0..<values.count) func aValueWithoutItsFormIsAFinding(row: Int) throws {
        let (sql, message) = Self.values[row]
        let found = try findings(try LedgerFile.mapping(), sql).map(\.message)
        #expect(found.contains { $0.contains(message) }, "\(found)")
        #expect(throws: HabitStoreError.self) {
            try TableImport(try LedgerFile(sql).file(), try LedgerFile.mapping(), schema: LedgerFile.schema)
        }
    }

    /// Links the wrong way round were called clean, and the records got others' labels.
    @Test func columnsThatAreDeclaredToReferElsewhereAreAFinding() throws {
        let swapped = (
            "\"here\": \"booking\", \"there\": [\"code\", \"region\"]",
            "\"here\": \"code\", \"there\": [\"booking\", \"region\"]"
        )
        let other = ("\"key\": {\"column\": \"uid\", \"form\": \"uuid lowercase\"}", "\"key\": \"amount\"")
        let parent = ("\"parent\": \"parent_id\"", "\"parent\": \"id\"")
        #expect(try findings(try LedgerFile.mapping(swapped)) != [])
        let messages = try findings(try LedgerFile.mapping(other)).map(\.message)
        #expect(
            messages.contains {
                $0.contains(
                    "booking_label.booking is declared to refer to booking (uid), and this mapping leads it to booking (amount)"
                )
            },
            "\(messages)"
        )
        #expect(
            try findings(try LedgerFile.mapping(parent)).contains {
                $0.message.contains("account.parent_id is neither mapped")
            }
        )
    }

    /// SQLite folds the letters A to Z and nothing else.
    @Test func namesThatOnlyUnicodeTakesForOneAreTwo() throws {
        let sql = #"ALTER TABLE label ADD COLUMN "É" TEXT; ALTER TABLE label ADD COLUMN "é" TEXT"#
        let found = try findings(try LedgerFile.mapping(("\"color\": \"color\"", "\"color\": \"É\"")), sql).map(
            \.message
        )
        #expect(found.contains("label.é is neither mapped nor excluded"), "\(found)")
        #expect(try findings(try LedgerFile.mapping(("\"color\": \"color\"", "\"color\": \"COLOR\""))) == [])
    }

    /// A column counted as mapped if any mapping of its table, or any condition, named it.
    @Test func eachMappingOfATableAccountsForItsColumns() throws {
        let account = #"{"table": "account", "entity": "Account","#
        let label = #"{"table": "label","#
        let hidden =
            #"\#(account) "rows": {"isHidden": 1}, "attributes": {"title": "title", "isHidden": "isHidden"}, "#
            + #""relationships": {"parent": "parent_id"}}, \#(label)"#
        let parts = try LedgerFile.mapping((account, #"\#(account) "rows": {"isHidden": 0},"#), (label, hidden))
        #expect(
            try findings(parts).map(\.message) == [
                "account.openedAt is neither mapped nor excluded in the mapping to Account"
            ]
        )
        let condition = try LedgerFile.mapping(
            (account, #"\#(account) "rows": {"isHidden": {"not": 5}},"#),
            (#""isHidden": "isHidden""#, #""isHidden": {"constant": false}"#)
        )
        #expect(try findings(condition).map(\.message) == ["account.isHidden is neither mapped nor excluded"])
    }

    /// Only the tables that a virtual table's own module creates belong to it.
    @Test func tablesNextToAVirtualOneAreTheApps() throws {
        let sql = """
            CREATE VIRTUAL TABLE log USING fts4(note);
            CREATE TABLE log_data (id INTEGER PRIMARY KEY);
            CREATE TABLE search_node (id);
            """
        let file = try LedgerFile(sql).file()
        #expect(Set(file.tables.map(\.name)).isSuperset(of: ["log_data", "search_node"]))
        let left = Set(file.leftAlone.map(\.name))
        #expect(left.isSuperset(of: ["log_segments", "search_data"]), "\(left)")
    }

    /// A condition whose text has a NUL ended the second reading.
    @Test func aConditionMayHaveAnyText() throws {
        let ledger = try LedgerFile("UPDATE account SET title = 'a' || char(0) || '''' WHERE id = 2")
        let account = #"{"table": "account", "entity": "Account","#
        let label = #"{"table": "label","#
        let mapping = try LedgerFile.mapping(
            (account, #"\#(account) "rows": {"title": {"not": "a\u0000'"}},"#),
            (label, #"{"table": "account", "entity": null, "rows": {"title": "a\u0000'"}}, \#(label)"#)
        )
        let work = try TableImport(try ledger.file(), mapping, schema: LedgerFile.schema)
        let store = try InMemoryHabitStore(schema: LedgerFile.schema)
        let report = try work.fill(store, notes: ledger.folder.path("store"))
        #expect(report.isVerified && report.entities.first?.records == 2, "\(report.differences)")
    }

    @Test func linksOfNoRowAndComputedColumnsAreSaid() throws {
        let sql = """
            INSERT INTO booking_label VALUES ('none', 'food', 1), (NULL, 'food', 2);
            ALTER TABLE account ADD COLUMN size INTEGER AS (length(title));
            """
        let report = try LedgerFile.mapping().check(try LedgerFile(sql).file(), schema: LedgerFile.schema)
        #expect(report.isClean, "\(report.findings)")
        let links =
            "booking_label: 2 rows belong to no row of booking: an import keeps them in a file next to the store"
        #expect(report.notes.contains(links), "\(report.notes)")
        #expect(report.notes.contains("account.size is left alone: it is computed from other columns"))
    }

    /// The program ended.
    @Test func aNumberThatNoDateHasIsNoTrap() throws {
        let values = [
            ("milliseconds 1970", "9223372036854775807"), ("nanoseconds 1970", "1e19"), ("seconds 1970", "1e300"),
        ]
        for (form, value) in values {
            let mapping = try LedgerFile.mapping(("seconds 1970", form))
            let file = try LedgerFile("UPDATE booking SET day = \(value) WHERE amount = 100").file()
            let report = try mapping.check(file, schema: LedgerFile.schema)
            let isSaid = report.notes.contains { $0.contains("is the form right?") }
            #expect(isSaid || !report.isClean, "\(form): \(report.notes)")
        }
    }

    @Test func whatSaysNothingIsRefused() throws {
        for (old, new, message) in [
            ("\"table\": \"label\",", "\"table\": \"label\", \"rows\": {\"region\": []},", "a condition needs a value"),
            ("\"form\": \"date grdb\"", "\"form\": \"date XXX yyyy-MM-dd\"", "there is no form"),
            ("\"form\": \"date grdb\"", "\"form\": \"date 'day 'yyyy-MM-dd\"", "there is no form"),
        ] {
            let error = #expect(throws: HabitStoreError.self) { try LedgerFile.mapping((old, new)) }
            #expect(error?.message.contains(message) == true, "\(error?.message ?? "")")
        }
        let twice = ("\"table\": \"account\",", "\"table\": \"account\", \"key\": [\"id\", \"ID\"],")
        let key = try findings(try LedgerFile.mapping(twice)).map(\.message)
        #expect(key.contains("a column is in the key twice"), "\(key)")
        let number = ("\"note\": \"note\"", "\"note\": {\"constant\": 5}")
        let note = try findings(try LedgerFile.mapping(number)).map(\.message)
        #expect(note.contains("the constant does not fit note, a text"), "\(note)")
    }

    /// Such references are kept as they are, but a wrong table looks the same.
    @Test func referencesOfWhichNoneLeadsAnywhereAreSaid() throws {
        let file = try LedgerFile("UPDATE booking SET account_id = 70 WHERE account_id NOT NULL").file()
        let report = try LedgerFile.mapping().check(file, schema: LedgerFile.schema)
        #expect(report.isClean)
        #expect(report.notes.contains { $0.hasPrefix("booking: no accountID leads to a row") }, "\(report.notes)")
    }

    @Test func rowsThatNoConditionMeansAreAFinding() throws {
        let food = ("\"table\": \"label\",", "\"table\": \"label\", \"rows\": {\"region\": 1},")
        #expect(
            try findings(try LedgerFile.mapping(food)).map(\.message).contains {
                $0.hasPrefix("label: 1 row (food, 2) fulfil the conditions of no")
            }
        )
        let rest = (
            "{\"table\": \"grdb_migrations\"",
            "{\"table\": \"label\", \"entity\": null, \"rows\": {\"region\": {\"not\": 1}}}, {\"table\": \"grdb_migrations\""
        )
        #expect(try findings(try LedgerFile.mapping(food, rest)) == [])
    }

    @Test func aTextThatIsNoMappingIsRefusedWithItsLines() {
        for (text, message) in [
            ("", "1:1"), ("[]", "1:1: a mapping is an object"),
            ("{\"format\": 1, \"tables\": []}", "\"format\" has to be 2"),
            ("{\"format\": 2}", "\"tables\" is missing"),
            ("{\"format\": 2, \"tabels\": []}", "did you mean \"tables\"?"),
            ("{\"format\": 2, \"tables\": [\n{\"table\": 1, \"entity\": null}]}", "2:11: this is"),
            (
                "{\"format\": 2, \"tables\": [{\"table\": \"a\", \"entity\": \"B\", \"attributes\": {\"c\": {\"column\": \"d\", \"form\": \"second 1970\"}}}]}",
                "did you mean \"seconds 1970\"?"
            ),
        ] {
            let error = #expect(throws: HabitStoreError.self) { try TableMapping(parsing: Data(text.utf8)) }
            #expect(error?.message.contains(message) == true, "\(text): \(error?.message ?? "")")
        }
        let newer = #expect(throws: HabitStoreError.self) { try TableMapping(parsing: Data("{\"format\": 3}".utf8)) }
        #expect(newer?.code == .newerVersion)
    }

    @Test func theDocumentationHasTheFormat() throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        let article = try String(
            contentsOf: root.appendingPathComponent("Sources/HabitStoreImport/Documentation.docc/Tables.md"),
            encoding: .utf8
        )
        let start = try #require(article.range(of: "```json\n"))
        let end = try #require(article.range(of: "\n```", range: start.upperBound..<article.endIndex))
        let mapping = try TableMapping(parsing: Data(article[start.upperBound..<end.lowerBound].utf8))
        #expect(mapping.tables.count == 4)
        for name in ["seconds 1970", "date iso8601 fractions", "uuid bytes", "minor units 2", "archive", "julian days"]
        {
            #expect(article.contains("`\(name)`") && StoredForm(name) != nil, "\(name)")
        }
        let schema = try JSON(
            parsing: Array(try Data(contentsOf: root.appendingPathComponent("schemas/table-mapping.schema.json")))
        )
        let table = schema.members?["$defs"]?.members?["table"]?.members?["properties"]?.members
        #expect(table?.keys.sorted() == TableMapping.members.sorted())
    }

    // MARK: Suggestions

    @Test func aSuggestionStatesWhatIsCertain() throws {
        let mapping = try TableMapping.suggested(for: try LedgerFile().file(), schema: LedgerFile.schema)
        let (account, booking) = (
            try #require(mapping.tables.first { $0.table == "account" }),
            try #require(mapping.tables.first { $0.table == "booking" })
        )
        #expect(account.entity == "Account" && account.questions.isEmpty, "\(account.questions)")
        #expect(account.attributes["openedAt"] == .column("openedAt", form: StoredForm("date grdb")))
        #expect(account.relationships["parent"]?.columns == ["parent_id"])
        #expect(booking.keyForm == .uuid(isLowercase: true))
        #expect(booking.attributes["day"] == .column("day", form: StoredForm("seconds 1970")))
        #expect(booking.links["labels"]?.there == ["code", "region"])
        #expect(mapping.tables.first { $0.table == "grdb_migrations" }?.entity == nil)
        let parsed = try TableMapping(parsing: Data(try mapping.json().utf8))
        #expect(parsed == mapping)
        #expect(try findings(parsed) == [])
    }

    static let doubts: [(String, String)] = [
        (
            "ALTER TABLE label ADD COLUMN rank INTEGER",
            "rank (no values) is called like no attribute of Label: is it excluded?"
        ),
        // Both in 2009 and in 2040 there are apps.
        ("UPDATE booking SET day = 1000000000 + amount", #"is its form "seconds 1970" or "seconds 2001"?"#),
        (
            "UPDATE account SET openedAt = '01/02/2019' WHERE openedAt NOT NULL",
            #""date dd/MM/yyyy" or "date MM/dd/yyyy"?"#
        ),
        ("UPDATE account SET openedAt = NULL", "holds no values: which form has it?"),
        (
            "UPDATE account SET isHidden = 'Y'",
            "isHidden is called like Account.isHidden, a truth value, and holds texts: Y"
        ),
        ("UPDATE booking SET day = 45000", "holds whole numbers: 45000: which form has it?"),
        ("UPDATE booking SET day = 725760000 + abs(amount)", #"is its form "seconds 1970" or "seconds 2001"?"#),
        (
            """
            CREATE TABLE other_label (b TEXT REFERENCES booking, code TEXT, region INTEGER,
                FOREIGN KEY (code, region) REFERENCES label)
            """,
            "which entity do its 2 rows become"
        ),
        (
            "CREATE TABLE diary (day TEXT, mood TEXT); INSERT INTO diary VALUES ('Monday', 'rad')",
            "which entity do its 1 rows become"
        ),
        ("CREATE TABLE accounts (id INTEGER PRIMARY KEY)", "which entity do its 3 rows become"),
    ]

    @Test(arguments: 0..<doubts.count) func whatIsDoubtfulIsAskedNotGuessed(row: Int) throws {
        let (sql, question) = Self.doubts[row]
        let file = try LedgerFile(";" + sql).file()
        let mapping = try TableMapping.suggested(for: file, schema: LedgerFile.schema)
        let questions = mapping.tables.flatMap(\.questions)
        #expect(questions.contains { $0.contains(question) }, "\(questions)")
        let error = #expect(throws: HabitStoreError.self) { try TableImport(file, mapping, schema: LedgerFile.schema) }
        #expect(error?.message.contains("an open question") == true)
    }
}
