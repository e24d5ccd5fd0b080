import ArgumentParser
import Foundation
@_spi(Engines) import HabitStore
import HabitStoreImport
import HabitStoreLMDB
import HabitStoreSQLite
import HabitStoreTesting
import RawStoreFiles

/// Kills first launches, while old code writes to the file between them, and checks what serves.
struct LaunchSweepCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "launch-sweep",
        abstract:
            "Kill processes that bring an app's old file into a store, at crash points and random times, and check both.",
        discussion: """
            After each kill, no store may serve that has not every row of the file; after a launch that is neither killed nor \
            hindered, the store has all rows, and the records that it had before.
            """
    )

    @Option(help: "How many processes to kill.")
    var kills = 300

    @OptionGroup var options: SweepOptions

    func run() throws {
        var generator = SeededGenerator(seed: options.printedSeed())
        let folder = try options.makeFolder("launch").path
        defer { try? FileManager.default.removeItem(atPath: folder) }
        var figures = LaunchFigures()
        var number = 0
        while figures.kills < kills {
            number += 1
            let place = "\(folder)/\(number)"
            try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: false)
            var user = try LaunchedUser(place, number, &generator)
            try user.run(&figures, &generator)
            try FileManager.default.removeItem(atPath: place)
        }
        for line in figures.lines { print(line) }
        if figures.violations > 0 { throw ExitCode.failure }
    }
}

/// What happened to the launches of a sweep.
private struct LaunchFigures {
    private(set) var kills = 0
    var launches = 0
    var users = 0
    var oldWrites = 0
    private(set) var places: [String: Int] = [:]
    private(set) var reasons: [String: Int] = [:]
    private(set) var violations = 0

    mutating func died(_ place: String) {
        kills += 1
        places[place, default: 0] += 1
    }

    mutating func stayed(_ code: String) { reasons[code, default: 0] += 1 }

    mutating func violation(_ user: Int, _ text: String) {
        violations += 1
        print("VIOLATION user \(user): \(text)")
    }

    var lines: [String] {
        func list(_ counts: [String: Int]) -> String {
            counts.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }.joined(separator: ", ")
        }
        return [
            "\(users) users, \(launches) launches, \(oldWrites) writes by old code, \(kills) kills: \(list(places))",
            "launches that left the old file: \(list(reasons))", "\(violations) violations",
        ]
    }
}

/// A user whose launches are killed and hindered.
private struct LaunchedUser {
    private static let mostSteps = 12
    private static let points = ["filling.batch", "launch.finishing", "launch.finished", "launch.merging"]

    private let place: String
    private let number: Int
    private let engine: EngineName
    /// Whether the store has records before the first launch.
    private let isInUse: Bool
    private let rows: Int
    private var next = 0
    /// The complete contents that the file had before each launch: a killed launch may have left a store with one of them.
    private var wholes: Set<[String]> = []

    private var file: String { "\(place)/cards.sqlite" }
    private var storePath: String { "\(place)/new.\(engine.rawValue)" }
    private var launch: FirstLaunch { FirstLaunch(of: file) }

    init(_ place: String, _ number: Int, _ generator: inout SeededGenerator) throws {
        (self.place, self.number) = (place, number)
        engine = Bool.random(using: &generator) ? .sqlite : .lmdb
        isInUse = Int.random(in: 0..<3, using: &generator) == 0
        rows = [3, 40, 400, 400, 2_500, 5_000].randomElement(using: &generator) ?? 0
        let database = try RawDatabase(path: file)
        defer { database.close() }
        if Bool.random(using: &generator) { try database.execute("PRAGMA journal_mode = WAL") }
        try database.execute(Cards.tables)
        try database.execute("BEGIN")
        for _ in 0..<7 { try database.execute("INSERT INTO deck (name) VALUES ('deck \(next % 7)')"); next += 1 }
        for _ in 0..<rows { try add(database) }
        try database.execute("COMMIT")
        guard isInUse else { return }
        let store = try Cards.open(engine, storePath)
        defer { store.close() }
        try store.write(author: "app") { transaction in
            // Of the same name as a deck of the file.
            let decks = [Deck(name: "deck 1"), Deck(name: "mine")]
            for deck in decks { try transaction.insert(deck) }
            for index in 0..<5 {
                try transaction.insert(Card(text: "new \(index)", number: -index, deckID: decks[index % 2].id))
            }
        }
    }

    private mutating func add(_ database: RawDatabase) throws {
        next += 1
        try database.execute("INSERT INTO card (text, number, deck) VALUES ('card \(next)', \(next), \(next % 7 + 1))")
    }

    mutating func run(_ figures: inout LaunchFigures, _ generator: inout SeededGenerator) throws {
        figures.users += 1
        let before = isInUse ? try Cards.contents(engine, storePath) : []
        wholes = [[], before]
        var seconds = 0.5
        for _ in 0..<Int.random(in: 1...Self.mostSteps, using: &generator) {
            if Int.random(in: 0..<2, using: &generator) == 0 { try write(&figures, &generator) }
            wholes.insert(Cards.merged(before, try Cards.rows(file)))
            let began = Date()
            let point =
                Bool.random(using: &generator)
                ? Self.points.randomElement(using: &generator).map {
                    "\($0):\(Int.random(in: 1...2, using: &generator))"
                } : nil
            let life = point == nil ? Double.random(in: 0...seconds, using: &generator) : 60
            let end = try start(point, hindrance: Int.random(in: 0..<6, using: &generator), life, &generator)
            figures.launches += 1
            if end.isSignalled {
                figures.died(
                    end.isKilled && point != nil
                        ? point?.split(separator: ":").first.map(String.init) ?? "" : "at random"
                )
            } else {
                seconds = max(0.1, Date().timeIntervalSince(began))
            }
            try look(end, before, &figures)
            if try launch.record?.state == .moved { break }
        }
        let end = try start(nil, hindrance: 5, 120, &generator)
        figures.launches += 1
        if !end.output.hasPrefix("store") { figures.violation(number, "the last launch says \(end.output)") }
        try look(end, before, &figures)
        try lookAfterwards(&figures)
    }

    private func start(
        _ point: String?,
        hindrance: Int,
        _ seconds: Double,
        _ generator: inout SeededGenerator
    ) throws -> ChildProcess.End {
        var arguments = ["--file", file, "--store", storePath, "--engine", engine.rawValue]
        var writer: RawDatabase?
        defer { writer?.close() }
        switch hindrance {
        case 0: arguments += ["--file-size", "\(Int.random(in: 1...400, using: &generator) * 1_024)"]
        case 1:
            writer = try RawDatabase(path: file)
            try writer?.execute("BEGIN IMMEDIATE")
        default: break
        }
        return try ChildProcess.runLaunch(arguments, point, seconds)
    }

    /// Old code writes, as it may for as long as the old file serves.
    private mutating func write(_ figures: inout LaunchFigures, _ generator: inout SeededGenerator) throws {
        guard try launch.record?.state != .moved else { return }
        let database = try RawDatabase(path: file)
        defer { database.close() }
        try database.execute("PRAGMA busy_timeout = 5000")
        // Of what a store in use has already, its own values stay.
        switch Int.random(in: 0..<(isInUse ? 1 : 4), using: &generator) {
        case 0: for _ in 0..<Int.random(in: 1...40, using: &generator) { try add(database) }
        case 1: try database.execute("UPDATE card SET text = text || '!' WHERE number % 3 = 0")
        case 2: try database.execute("DELETE FROM card WHERE number % 5 = 0")
        default: try database.execute("UPDATE deck SET name = name || '+' WHERE id = 3")
        }
        figures.oldWrites += 1
    }

    /// Checks what serves after a launch.
    private func look(_ end: ChildProcess.End, _ before: [String], _ figures: inout LaunchFigures) throws {
        let words = end.output.split(whereSeparator: \.isWhitespace).map(String.init)
        if words.first == "oldFile" { figures.stayed(words.dropFirst().first ?? "") }
        if !end.isSignalled, !end.isSuccess { figures.violation(number, "a launch ended with \(end)") }
        let rows = try Cards.rows(file)
        let isMoved = try launch.record?.state == .moved
        if words.first == "store", !isMoved {
            figures.violation(number, "a store serves, and the record does not say so")
        }
        guard isMoved else {
            guard FileManager.default.fileExists(atPath: storePath),
                let found = try? Cards.contents(engine, storePath)
            else { return }
            if !wholes.contains(found) {
                figures.violation(number, "a partial store of \(found.count) records can be read")
            }
            return
        }
        let (found, wanted) = (try Cards.contents(engine, storePath), Cards.merged(before, rows))
        if found != wanted {
            figures.violation(number, "the store has \(found.count) records, and \(wanted.count) are wanted")
        }
    }

    /// Old code writes although the store serves: that is seen.
    private func lookAfterwards(_ figures: inout LaunchFigures) throws {
        let database = try RawDatabase(path: file)
        try database.execute("INSERT INTO deck (name) VALUES ('late')")
        database.close()
        let end = try ChildProcess.runLaunch(
            ["--file", file, "--store", storePath, "--engine", engine.rawValue],
            nil,
            120
        )
        figures.launches += 1
        if try !end.output.hasPrefix("store") || launch.record?.writtenSince == nil {
            figures.violation(number, "a late write was not seen: \(end.output)")
        }
    }
}

extension ChildProcess {
    /// Runs a first launch until it ends, or for so long.
    fileprivate static func runLaunch(_ arguments: [String], _ point: String?, _ seconds: Double) throws -> End {
        let child = try ChildProcess(
            ownProgram,
            ["launch-child"] + arguments,
            environment: environment(["HABITSTORE_CRASH_POINT": point]),
            errors: .inherited
        )
        if !child.hasEnded(withinSeconds: seconds) { child.signal(SIGKILL) }
        return try child.end()
    }
}

/// A first launch, which says what serves.
struct LaunchChildCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "launch-child",
        abstract: "Launch an app with an old file; started by a sweep.",
        shouldDisplay: false
    )

    @Option(help: "The old file.")
    var file: String

    @Option(help: "The store.")
    var store: String

    @Option(help: "The store's engine.")
    var engine: String

    @Option(help: "The largest size of a file in bytes, as on a disk without room.")
    var fileSize: UInt64?

    func run() throws {
        let launch = FirstLaunch(of: file, waitSeconds: 0.2)
        if let fileSize {
            signal(SIGXFSZ, SIG_IGN)
            try ResourceLimit.fileSize.set(fileSize)
        }
        let mapping = try TableMapping(parsing: Data(Cards.mapping.utf8))
        switch engine {
        case "lmdb":
            try say(
                launch.open(by: mapping, schema: Cards.schema) { try LMDBHabitStore(path: store, schema: Cards.schema) }
            )
        default:
            try say(
                launch.open(by: mapping, schema: Cards.schema) {
                    try SQLiteHabitStore(path: store, schema: Cards.schema)
                }
            )
        }
    }

    private func say<Store: UserStoreBackend>(_ outcome: FirstLaunch.Outcome<Store>) throws {
        switch outcome {
        case .store(let store, _):
            print("store", try store.fetchCount(FetchDescriptor<Card>()))
            store.close()
        case .oldFile(let record): print("oldFile", record.reason?.code ?? "")
        }
    }
}

/// The app: decks of cards.
private enum Cards {
    static let schema = Schema([Deck.self, Card.self])

    static let tables = """
        CREATE TABLE deck (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
        CREATE TABLE card (id INTEGER PRIMARY KEY, text TEXT NOT NULL, number INTEGER NOT NULL, deck INTEGER REFERENCES deck);
        """

    static let mapping = """
        {"format": 2, "namespace": "cards", "tables": [
          {"table": "deck", "entity": "Deck", "naturalKey": "name", "attributes": {"name": "name"}},
          {"table": "card", "entity": "Card", "attributes": {"text": "text", "number": "number"}, 
           "relationships": {"deckID": {"columns": "deck", "table": "deck"}}}]}
        """

    static func open(_ engine: EngineName, _ path: String) throws -> any UserStoreBackend {
        engine == .lmdb
            ? try LMDBHabitStore(path: path, schema: schema) : try SQLiteHabitStore(path: path, schema: schema)
    }

    /// The rows of the file, by the names of what they refer to.
    static func rows(_ path: String) throws -> [String] {
        let database = try RawDatabase(path: path)
        defer { database.close() }
        try database.execute("PRAGMA busy_timeout = 5000")
        return try database.run(
            """
            SELECT 'deck ' || name FROM deck
            UNION ALL SELECT 'card ' || text || ' ' || number || ' of ' || (SELECT name FROM deck WHERE id = card.deck) FROM card
            """
        ).sorted()
    }

    /// The records of a store in the same form, by its own check without a fault.
    static func contents(_ engine: EngineName, _ path: String) throws -> [String] {
        let store = try open(engine, path)
        defer { store.close() }
        let (decks, cards) = try store.read { (try $0.all(Deck.self), try $0.all(Card.self)) }
        let findings = try store.check { _ in } + store.checkDigests()
        guard findings.isEmpty else { throw HabitStoreError(.corrupt, "\(findings.map(\.message))") }
        let names = Dictionary(uniqueKeysWithValues: decks.map { ($0.id, $0.name) })
        return
            (decks.map { "deck \($0.name)" }
            + cards.map { card in
                "card \(card.text) \(card.number) of \(card.deckID.map { names[$0] ?? "missing" } ?? "none")"
            }).sorted()
    }

    /// The records of a store and the rows of a file, of which decks of the same name are the same.
    static func merged(_ records: [String], _ rows: [String]) -> [String] {
        let known = Set(records.filter { $0.hasPrefix("deck ") })
        return (records + rows.filter { !known.contains($0) }).sorted()
    }
}

private struct Deck: PersistentModel {
    var id = UUID()
    var name: String

    static let entity = EntityDescription(Deck.self, attributes: [.id(\Deck.id), .attribute("name", \Deck.name)])

    init(name: String) { self.name = name }

    init(row: inout AttributeReader) throws { (id, name) = (try row.nextUUID(), try row.nextString()) }

    func write(to row: inout AttributeWriter) throws {
        row.append(id)
        row.append(name)
    }
}

private struct Card: PersistentModel {
    var id = UUID()
    var text: String
    var number: Int
    var deckID: UUID?

    static let entity = EntityDescription(
        Card.self,
        attributes: [
            .id(\Card.id), .attribute("text", \Card.text), .attribute("number", \Card.number),
            .attribute("deckID", \Card.deckID),
        ]
    )

    init(text: String, number: Int, deckID: UUID) { (self.text, self.number, self.deckID) = (text, number, deckID) }

    init(row: inout AttributeReader) throws {
        (id, text, number) = (try row.nextUUID(), try row.nextString(), try row.nextInt())
        deckID = try row.nextOptionalUUID()
    }

    func write(to row: inout AttributeWriter) throws {
        row.append(id)
        row.append(text)
        row.append(number)
        row.append(deckID)
    }
}
