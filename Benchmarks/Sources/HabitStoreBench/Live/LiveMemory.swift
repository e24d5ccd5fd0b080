import Foundation
import HabitStore

/// The memory of a live query of 10,000 entries, compared with an array of them; each in a separate process.
struct LiveMemory {
    static let childArgument = "live-memory"
    private static let queries = 20

    private let directory: URL
    private let data: BenchData

    init(_ directory: URL, _ data: BenchData) {
        (self.directory, self.data) = (directory.appendingPathComponent("memory"), data)
    }

    func measure() throws {
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        print(
            "\nMemory of one of \(Self.queries) live queries of \(data.entries.count.grouped) entries by date, and of one of \(Self.queries) fetched arrays.\n"
        )
        print(
            "| store | an array, KiB | a live query, KiB | bytes per entry | a live query of the identifiers, KiB |"
        )
        print("|---|---:|---:|---:|---:|")
        for engine in [TableEngine.sqlite, .lmdb] {
            let path = directory.appendingPathComponent(engine.rawValue).path
            try StoreLiveSide(engine, path, data).close()
            let bytes = try Kept.allCases.map { kept -> Double in
                let text = try ChildProcess.output([Self.childArgument, engine.rawValue, path, kept.rawValue])
                guard let bytes = Double(text) else { throw BenchError("the process reported no size") }
                return bytes
            }
            var cells = [engine.rawValue, LiveRun.text(bytes[0] / 1_024, 0), LiveRun.text(bytes[1] / 1_024, 0)]
            cells.append(LiveRun.text(bytes[1] / Double(data.entries.count), 0))
            cells.append(LiveRun.text(bytes[2] / 1_024, 0))
            print("| \(cells.joined(separator: " | ")) |")
            fflush(nil)
        }
    }

    /// The objects that a process keeps in memory.
    private enum Kept: String, CaseIterable {
        case arrays, results, identifiers
    }

    /// `live-memory ENGINE PATH WHAT`: prints the bytes per live query or array.
    static func runChild(_ arguments: [String]) {
        do {
            guard arguments.count == 5, let engine = TableEngine(rawValue: arguments[2]),
                let kept = Kept(rawValue: arguments[4])
            else { throw BenchError("\(childArgument) takes an engine, a path and what to keep") }
            let store = try engine.open(arguments[3], schema: PlainEntry.schema)
            let descriptor = FetchDescriptor<PlainEntry>(sortBy: [SortDescriptor(\.date)])
            func keep(_ count: Int) throws -> [Any] {
                guard kept != .arrays else { return try (0..<count).map { _ in try store.fetch(descriptor) } }
                let consumers = (0..<count).map { _ in
                    kept == .results
                        ? LiveConsumer(store.results(of: descriptor)) { $0.records.count }
                        : LiveConsumer(store.identifiers(of: descriptor)) { $0.records.count }
                }
                for consumer in consumers { try consumer.wait(for: 1) }
                return consumers
            }
            // The first one allocates what all of them share.
            let first = try keep(1)
            let before = ProcessFigures().ownBytes
            let others = try keep(queries)
            print((ProcessFigures().ownBytes - before) / Double(queries))
            withExtendedLifetime((first, others)) {}
            fflush(nil)
        } catch { ChildProcess.fail(error) }
    }
}
