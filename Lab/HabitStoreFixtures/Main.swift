import Foundation
import HabitStore
import HabitStoreRollout
import HabitStoreTesting
import ShadowVerifier

/// Writes the fixtures: `habitstore-fixtures DIRECTORY`. The same program with the same SQLite and LMDB libraries writes the same bytes.
@main
enum Main {
    static func main() {
        guard CommandLine.arguments.count == 2 else {
            FileHandle.standardError.write(Data("usage: habitstore-fixtures DIRECTORY\n".utf8))
            exit(64)
        }
        do {
            try write(to: URL(fileURLWithPath: CommandLine.arguments[1], isDirectory: true))
        } catch {
            FileHandle.standardError.write(Data("habitstore-fixtures: error: \(error)\n".utf8))
            exit(74)
        }
    }

    private static func write(to directory: URL) throws {
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        try json(QueryFile(queries: FixtureQuery.all.map(\.query)), to: directory, "queries.json")
        let fixtures: [(String, FixtureContents)] = [
            ("empty", FixtureContents(description: "a store that nothing was ever written to")),
            ("tidy", try TidyFixture.make()),
            ("heavy", try HeavyFixture.make()),
            ("lived-in", try LivedInFixture.make()),
        ]
        for (index, (name, contents)) in fixtures.enumerated() {
            var random = SeededGenerator(seed: UInt64(index) + 1)
            let path = directory.appendingPathComponent("\(name).sqlite").path
            try FixtureWriter.write(contents, identity: random.identifier(), to: path)
            try json(expectations(contents), to: directory, "\(name).expected.json")
            print(
                "\(name): \(contents.habits.count) habits, \(contents.entries.count) entries, token \(contents.token)"
            )
        }
        for version in [1, 2] { try writePast(version, to: directory) }
        var random = SeededGenerator(seed: 99)
        let pair = try DivergedPair()
        let expectation = try pair.write(to: directory, identity: random.identifier(), name: "diverged")
        try json(expectation, to: directory, "diverged.pair.json")
        print("diverged: \(expectation.differences.count) differences")
    }

    /// Writes a store of an older schema version for each engine, and their expected contents after a migration.
    private static func writePast(_ version: Int, to directory: URL) throws {
        let past = try PastFixture.make(version: version)
        var random = SeededGenerator(seed: UInt64(100 + version))
        let identity = random.identifier()
        let path = directory.appendingPathComponent("v\(version)").path
        try PastSQLiteWriter.write(past, identity: identity, to: path + ".sqlite")
        try PastLMDBWriter.write(past.canonical, identity: identity, to: path + ".lmdb")
        var migrated = past.migrated
        // The migration creates the tags in a separate transaction.
        migrated.token += 1
        try json(expectations(migrated), to: directory, "v\(version).expected.json")
        print(
            "v\(version): \(migrated.habits.count) habits, \(migrated.entries.count) entries, \(migrated.tags.count) tags"
        )
    }

    private static func expectations(_ contents: FixtureContents) -> Expectations {
        let normalized = contents.normalized
        var queries: [String: Expectations.QueryResult] = [:]
        for query in FixtureQuery.all {
            let identifiers = query.result(normalized)
            queries[query.query.name] = .init(
                count: identifiers.count,
                identifiers: Array(identifiers.prefix(Expectations.listedIdentifiers))
            )
        }
        return Expectations(
            description: contents.description,
            token: contents.token,
            counts: [
                "Habit": contents.habits.count, "Entry": contents.entries.count, "Tag": contents.tags.count,
                "Draft": contents.drafts.count,
            ],
            anomalies: contents.anomalies,
            queries: queries
        )
    }

    private static func json(_ value: some Encodable, to directory: URL, _ name: String) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        var data = try encoder.encode(value)
        data.append(UInt8(ascii: "\n"))
        try data.write(to: directory.appendingPathComponent(name), options: .atomic)
    }
}
