import Foundation
@_spi(Engines) import HabitStore
import HabitStoreTesting
import HabitTracker

/// The process that fills a user's store, or queries it and measures itself.
struct GrowthChild {
    static let argument = "growth-child"
    private static let perTransaction = 50_000
    private static let (reads, openings, commits) = (2_000, 20, 200)
    /// The number of entries in a range.
    private static let hours = 30

    /// `growth-child load|measure ENGINE PATH FROM TO`
    static func run(_ arguments: [String]) {
        do {
            guard arguments.count == 7, let engine = TableEngine(rawValue: arguments[3]),
                let from = Int(arguments[5]), let to = Int(arguments[6])
            else { throw BenchError("\(argument) takes a task, an engine, a path and two numbers") }
            let child = GrowthChild(engine: engine, path: arguments[4], count: to)
            print(arguments[2] == "load" ? try child.load(from: from) : try child.measure())
        } catch {
            FileHandle.standardError.write(Data("habitstore-bench: error: \(error)\n".utf8))
            exit(1)
        }
    }

    let engine: TableEngine
    let path: String
    let count: Int

    /// - Returns: microseconds per entry.
    private func load(from: Int) throws -> String {
        let store = try engine.open(path)
        defer { store.close() }
        let start = ContinuousClock.now
        if from == 0 {
            try store.write(author: nil) { transaction in
                try transaction.insert(contentsOf: (0..<GrowthUser.habits).map(GrowthUser.habit))
            }
        }
        for first in stride(from: from, to: count, by: Self.perTransaction) {
            try store.write(author: nil) { transaction in
                let numbers = first..<min(first + Self.perTransaction, count)
                try transaction.insert(contentsOf: numbers.lazy.map(GrowthUser.entry))
            }
        }
        return Self.text((ContinuousClock.now - start) / .microseconds(1) / Double(count - from), 2)
    }

    private func measure() throws -> String {
        let opening = try median(Self.openings) { _ in
            let store = try engine.open(path)
            try read(store, 0)
            store.close()
        }
        let store = try engine.open(path)
        defer { store.close() }
        var random = SeededGenerator(seed: 11)
        let byIdentifier = try median(Self.reads) { _ in try read(store, Int(random.next() % UInt64(count))) }
        let hours = max(1, count / GrowthUser.habits - Self.hours)
        let range = try median(Self.reads) { number in
            let hour = Int(random.next() % UInt64(hours))
            let (habit, from, to) = (
                GrowthUser.identifier(ofHabit: number % GrowthUser.habits), GrowthUser.date(hour),
                GrowthUser.date(hour + Self.hours)
            )
            let found = try store.fetch(
                FetchDescriptor<Entry>(
                    predicate: #Predicate { $0.habitID == habit && $0.date >= from && $0.date < to },
                    sortBy: [SortDescriptor(\.date)]
                )
            )
            guard found.count == min(Self.hours, count / GrowthUser.habits) else {
                throw BenchError("a range is incomplete")
            }
        }
        var newest = FetchDescriptor<Entry>(sortBy: [SortDescriptor(\.date, order: .reverse)])
        newest.fetchLimit = 20
        let page = try median(Self.reads) { _ in
            guard try store.fetch(newest).count == 20 else { throw BenchError("a page is not full") }
        }
        // After the earlier entries, as an app writes them.
        let commit = try median(Self.commits) { number in
            var entry = GrowthUser.entry(count + number)
            entry.id = UUID()
            try store.save(entry)
        }
        try store.write(author: nil) { transaction in
            let from = GrowthUser.date(count / GrowthUser.habits)
            try transaction.delete(Entry.self, where: #Predicate { $0.date >= from })
        }
        let figures = ProcessFigures()
        let bytes = try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int ?? 0
        let cells = [
            Self.text(opening, 0), Self.text(byIdentifier, 1), Self.text(range, 1), Self.text(page, 1),
            Self.text(commit, 0), Self.text(figures.ownBytes / 1_048_576, 0),
            Self.text(figures.mappedBytes / 1_048_576, 0), Self.text(Double(bytes) / 1_048_576, 0),
        ]
        return cells.joined(separator: " | ")
    }

    private func read(_ store: any HabitStore, _ number: Int) throws {
        guard try store.model(Entry.self, id: GrowthUser.identifier(ofEntry: number)) != nil else {
            throw BenchError("an entry is missing")
        }
    }

    /// The median in microseconds.
    private func median(_ times: Int, _ body: (Int) throws -> Void) rethrows -> Double {
        try (0..<times).map { number in
            let start = ContinuousClock.now
            try body(number)
            return (ContinuousClock.now - start) / .microseconds(1)
        }
        .sorted()[times / 2]
    }

    private static func text(_ value: Double, _ digits: Int) -> String { String(format: "%.\(digits)f", value) }
}
