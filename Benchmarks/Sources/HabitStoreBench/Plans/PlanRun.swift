import Foundation
@_spi(Engines) import HabitStore
import HabitStoreLMDB
import HabitStoreSQLite
import HabitTracker

/// The suite `plans`: every kind of plan, on files written by this package's stores, through the public API, hand-written in C, and through GRDB's
/// requests.
struct PlanRun {
    private let data: BenchData
    private let rounds: Int
    private let sqlite: EngineContestants
    private let lmdb: EngineContestants
    private let plain: GRDBContestant<GRDBPlainEntry>
    private let codable: GRDBContestant<GRDBCodableEntry>

    init(_ data: BenchData, _ directory: URL, rounds: Int) throws {
        self.data = data
        self.rounds = rounds
        func path(_ name: String) -> String { directory.appendingPathComponent("plans-\(name)").path }
        for engine in [TableEngine.sqlite, .lmdb] {
            let store = try engine.open(path(engine.rawValue))
            try store.load(data)
            store.close()
            // Copies made while no process has the file open, so that the sides share no lock or cache.
            for other in ["hand", "plain", "codable"] {
                try FileManager.default.copyItem(
                    atPath: path(engine.rawValue),
                    toPath: path("\(engine.rawValue)-\(other)")
                )
            }
        }
        sqlite = EngineContestants(
            name: "SQLite",
            ours: StoreContestant(store: try SQLiteHabitStore(path: path("SQLite"), schema: HabitSchema.current)),
            byHand: try .sqlite(path("SQLite-hand"))
        )
        lmdb = EngineContestants(
            name: "LMDB",
            ours: StoreContestant(store: try LMDBHabitStore(path: path("LMDB"), schema: HabitSchema.current)),
            byHand: try .lmdb(path("LMDB-hand"))
        )
        plain = try GRDBContestant(path("SQLite-plain"))
        codable = try GRDBContestant(path("SQLite-codable"))
    }

    func close() {
        sqlite.ours.store.close()
        lmdb.ours.store.close()
    }

    func measure() throws {
        print("\n| engine | plan | ours, ms | C, ms | ratio | GRDB, ms | ratio | Codable, ms | ratio |")
        print("|---|---|---:|---:|---:|---:|---:|---:|---:|")
        for plan in Plan.allCases { try measure(plan) }
        print("\n| plan | engine | our plan | examined | returned |")
        print("|---|---|---|---:|---:|")
        for plan in Plan.allCases { try explain(plan) }
    }

    private func measure(_ plan: Plan) throws {
        let questions = PlanQuestion.all(plan, data)
        var contestants: [any PlanContestant] = [sqlite.ours, sqlite.byHand, lmdb.ours, lmdb.byHand, plain]
        if plan.decodesEntries { contestants.append(codable) }
        try check(plan, questions, contestants)
        var times = [[Double]](repeating: [], count: contestants.count)
        for _ in 0..<plan.rounds(of: rounds) {
            for (place, contestant) in contestants.enumerated() {
                let start = ContinuousClock.now
                for question in questions { _ = try contestant.answer(question) }
                let milliseconds = (ContinuousClock.now - start) / .milliseconds(1)
                times[place].append(milliseconds / Double(questions.count))
            }
        }
        let medians = times.map { $0.sorted()[$0.count / 2] }
        print(row("SQLite", plan, ours: medians[0], others: [medians[1]] + medians[4...]))
        print(row("LMDB", plan, ours: medians[2], others: [medians[3]] + medians[4...]))
    }

    /// Asks all sides each query first, which also fills the caches; times of different answers would mean nothing.
    private func check(_ plan: Plan, _ questions: [PlanQuestion], _ contestants: [any PlanContestant]) throws {
        let names = ["ours on SQLite", "C on SQLite", "ours on LMDB", "C on LMDB", "GRDB", "GRDB with Codable"]
        var found: Set<UInt64> = []
        for (number, question) in questions.enumerated() {
            let answers = try contestants.map { try $0.answer(question) }
            for (name, answer) in zip(names, answers) where answer != answers[1] {
                throw BenchError("\(plan.title), question \(number): \(name) differs from C on SQLite")
            }
            found.insert(answers[1])
        }
        guard found != [0] else { throw BenchError("\(plan.title): no query found anything") }
    }

    private func row(_ engine: String, _ plan: Plan, ours: Double, others: [Double]) -> String {
        var cells = others.map { String(format: "%.4f | %.2f", $0, ours / $0) }
        if !plan.decodesEntries { cells.append("– | –") }
        return "| \(engine) | \(plan.title) | \(String(format: "%.4f", ours)) | \(cells.joined(separator: " | ")) |"
    }

    private func explain(_ plan: Plan) throws {
        let questions = PlanQuestion.all(plan, data)
        // The first query with a result, to show how much work it takes.
        let place = try questions.firstIndex { try sqlite.ours.analyze($0).statistics.returned > 0 }
        for engine in [sqlite, lmdb] {
            let analysis = try engine.ours.analyze(questions[place ?? 0])
            // A bar would end the table cell.
            let text = "\(analysis.explanation)".replacingOccurrences(of: "|", with: "\\|")
            let work = analysis.statistics
            print("| \(plan.title) | \(engine.name) | \(text) | \(work.examined) | \(work.returned) |")
        }
    }
}

/// The two sides that use one engine's file.
private struct EngineContestants {
    let name: String
    let ours: StoreContestant
    let byHand: HandContestant
}
