import Foundation
import HabitStore
import HabitTracker
import Testing

@testable import HabitStoreImport
@testable import HabitTrackerImport

/// Stores keep text in NFC, which replaces some characters: 5 of 32,693 words of a real dictionary became other words, and the originals were lost.
/// Now
/// the attachment has them; texts that NFC only composes are counted.
@Suite struct ReplacedCharactersTests {
    /// Compatibility ideographs, signs that stand for letters, letters that never compose, and marks in a different order.
    static let replaced = [
        "\u{FA18}", "a\u{F900}b", "\u{2F800}", "\u{212B}ngström", "10 \u{2126}", "3 \u{212A}", "\u{1F71}", "\u{2329}",
        "\u{FB2A}\u{FB4B}", "\u{958}", "\u{F43}", "\u{1D15E}", "\u{340}", "q\u{307}\u{323}", "\u{E9}\u{323}",
    ]
    static let composed = [
        "plain", "café", "cafe\u{301}", "\u{1100}\u{1161}\u{11A8}", "\u{AC00}\u{11A8}", "\u{EA}\u{1EC7}",
        "\u{1EB9}\u{302}",
        "\u{5E9}\u{5C1}", "\u{304B}\u{3099}", "\u{793C}", "🇸🇪👩‍🚀",
    ]

    @Test func onlyWhatNoDecompositionGivesBackIsReplaced() {
        for text in Self.replaced { #expect(text.isReplacedByNFC, "\(text.unicodeScalars.map(\.value))") }
        for text in Self.composed { #expect(!text.isReplacedByNFC, "\(text.unicodeScalars.map(\.value))") }
    }

    /// Every scalar that Unicode excludes from NFC text, according to a property that the importer does not use.
    @Test func everyCharacterThatNFCHasNotIsReplaced() {
        for value in (0x80...0x2FFFF).lazy.compactMap(Unicode.Scalar.init) {
            let isReplaced = String(value).isReplacedByNFC
            guard isReplaced != value.properties.isFullCompositionExclusion else { continue }
            Issue.record("U+\(String(value.value, radix: 16))")
        }
    }

    private func fixture() throws -> CoreDataFixture {
        let fixture = try CoreDataFixture.library(history: false)
        try fixture.sql(
            "UPDATE ZTAG SET ZNAME = '\u{FA18}' WHERE Z_PK = 1; UPDATE ZTAG SET ZNAME = 'cafe\u{301}' WHERE Z_PK = 2; "
                + "UPDATE ZNOTE SET ZTEXT = '\u{212B}'"
        )
        return fixture
    }

    @Test(arguments: TargetEngine.onDisk)
    func whatNFCReplacesIsKeptBesideTheStoreAndCounted(_ engine: TargetEngine) throws {
        let fixture = try fixture()
        let target = try ImportTarget(engine)
        let report = try target.update(from: fixture.path)
        #expect((report.normalizedTexts, report.replacedTexts) == (3, 2))
        #expect(report.shortfalls.isEmpty)
        let lines = try String(contentsOfFile: target.path + ".unmapped.jsonl", encoding: .utf8)
        let kept = Array(lines.unicodeScalars)
        #expect(kept.contains("\u{FA18}") && kept.contains("\u{212B}") && !kept.contains("\u{301}"))
        let contents = try target.contents(of: fixture.path)
        #expect(contents.values.contains { $0["name"]?.unicodeScalars.contains("\u{793C}") == true })
        #expect(try target.unaccounted(of: fixture.path) == [])
        try target.update(from: fixture.path)
        #expect(try String(contentsOfFile: target.path + ".unmapped.jsonl", encoding: .utf8) == lines)
    }

    /// Swift considers both texts equal, and the account confused them.
    @Test(arguments: ["\u{FA18}", "\u{212B}"])
    func anOriginalThatIsNotKeptIsFound(_ character: Unicode.Scalar) throws {
        let fixture = try fixture()
        let target = try ImportTarget(.sqlite)
        try target.update(from: fixture.path)
        let path = target.path + ".unmapped.jsonl"
        let lines = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").map { line in
            // In the store's own form, as in a line for another value.
            line.unicodeScalars.contains(character) ? line.precomposedStringWithCanonicalMapping : String(line)
        }
        try Data((lines.joined(separator: "\n") + "\n").utf8).write(to: URL(fileURLWithPath: path))
        let found = try target.unaccounted(of: fixture.path)
        #expect(found.count == 1 && found[0].hasPrefix("1 of "), "\(found)")
    }

    @Test func aMappedImportKeepsWhatNFCReplaces() throws {
        let fixture = try fixture()
        let home = fixture.folder
        let mapping = home.appendingPathComponent("m.json")
        try Data(
            #"{"format": 1, "entities": [{"source": "Tag", "target": "Tag", "attributes": {"name": "name"}}]}"#.utf8
        )
        .write(to: mapping)
        let store = home.appendingPathComponent("s.sqlite").path
        let run = try CommandLineRun(
            "import",
            "coredata",
            fixture.path,
            "--mapping",
            mapping.path,
            "--into",
            "sqlite:\(store)",
            home: home
        )
        #expect(run.status == 0, "\(run.output)\(run.errors)")
        #expect(
            run.output.contains("NFC replaces characters of a text; its original is in the attachment"),
            "\(run.output)"
        )
        let verify = try CommandLineRun("verify", fixture.path, store, "--mapping", mapping.path, home: home)
        #expect(verify.status == 0, "\(verify.output)")
        let path = store + ".unmapped.jsonl"
        let lines = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
        let left = lines.filter { !$0.unicodeScalars.contains("\u{FA18}") }
        try Data((left.joined(separator: "\n") + "\n").utf8).write(to: URL(fileURLWithPath: path))
        let lost = try CommandLineRun("verify", fixture.path, store, "--mapping", mapping.path, home: home)
        #expect(lost.output.contains("1 of 2 values of ZTAG.ZNAME"), "\(lost.output)")
    }

    /// A deleted record's values are in the store's history, under their columns' names.
    @Test func aTombstoneWhoseCharactersNFCReplacesKeepsItsBytes() throws {
        let fixture = try CoreDataFixture.library()
        try fixture.sql("UPDATE ACHANGE SET ZTOMBSTONE0 = '\u{FA18}' WHERE ZCHANGETYPE = 2")
        let target = try ImportTarget(.sqlite)
        try target.update(from: fixture.path)
        let file = try CoreDataFile(path: fixture.path)
        let store = try target.open(file)
        defer { store.close() }
        var found: [Value] = []
        try store.read { transaction in
            try transaction.enumerateHistory(after: .zero) { entry in
                for case .delete(let tombstone) in entry.changes.map(\.kind) {
                    found += tombstone["ZTOMBSTONE0"].map { [$0] } ?? []
                }
                return true
            }
        }
        #expect(!found.isEmpty && found.allSatisfy { $0 == .data(Data("\u{FA18}".utf8)) }, "\(found)")
        #expect(try CoreDataAccount(of: file, in: store).unaccounted.map(\.message) == [])
    }

    // MARK: Trackers

    private static let loop = """
        CREATE TABLE Habits (id INTEGER PRIMARY KEY, name TEXT, freq_num INTEGER, freq_den INTEGER, archived INTEGER);
        CREATE TABLE Repetitions (id INTEGER PRIMARY KEY, habit INTEGER, timestamp INTEGER, value INTEGER, notes TEXT);
        INSERT INTO Habits VALUES (1, '\u{212B}', 1, 1, 0), (2, 'cafe\u{301}', 1, 1, 0);
        INSERT INTO Repetitions VALUES (1, 1, 86400000, 2, '\u{FA18}'), (2, 2, 86400000, 2, 'e\u{301}');
        """

    @Test func aTrackersTextsAreKeptAsTheyWereWritten() throws {
        let sandbox = try TrackerSandbox()
        try sandbox.database("x.db", Self.loop)
        let report = try sandbox.run("x.db")
        #expect(report.odd("texts of which NFC replaces characters; the originals are kept") == 2)
        #expect((report.kept("habit.name (original)"), report.kept("entry.note (original)")) == (1, 1))
        let text = try String(contentsOfFile: try #require(report.attachment), encoding: .utf8)
        #expect(text.unicodeScalars.contains("\u{212B}") && text.unicodeScalars.contains("\u{FA18}"))
        try sandbox.folder.write(
            "h.csv",
            "HabitName,HabitDescription,HabitCategory,CalendarDate,Value,CommentText\nPush,,\u{2126},2024-02-28,5,\u{FB2A}\n"
        )
        #expect(
            try sandbox.run("h.csv").odd("texts of which NFC replaces characters; the originals are kept") == 2
        )
        try sandbox.folder.write("log", "2024-02-28 : Gym : y : 3 \u{212A} : 1\n2024-02-29 : Gym : y\n")
        #expect(try sandbox.run("log").kept("entry.note (original)") == 1)
    }

    @Test(arguments: ["x.db", "h.csv"])
    func anOriginalOfATrackerThatIsNotKeptIsFound(_ name: String) throws {
        let sandbox = try TrackerSandbox()
        if name == "x.db" {
            try sandbox.database(name, Self.loop)
        } else {
            let header = "HabitName,HabitDescription,HabitCategory,CalendarDate,Value,CommentText\n"
            try sandbox.folder.write(name, header + "Push,,,2024-02-28,5,\u{FA18}\n")
        }
        let report = try sandbox.run(name)
        let path = try #require(report.attachment)
        let text = try String(contentsOfFile: path, encoding: .utf8).precomposedStringWithCanonicalMapping
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        let verification = try sandbox.verify(name, report)
        #expect(
            verification.differences.contains { $0.contains("neither in the store nor in the attachment") },
            "\(verification.differences)"
        )
    }
}
