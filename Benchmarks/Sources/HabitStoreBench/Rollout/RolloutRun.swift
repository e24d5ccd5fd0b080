import Foundation
import HabitStore
import HabitStoreLMDB
import HabitStoreRollout
import HabitStoreSQLite
import HabitTracker
import StandardEngines

/// The suite `rollout`: the cost of a user's store compared with the engines below it, and the time until the kill switch takes effect.
struct RolloutRun {
    private let directory: URL
    private let rounds: Int

    /// Per round, one after another.
    private static let writes = 200
    private static let reads = 20_000
    private static let records = 1_000
    private static let writeGoal = 1.15
    private static let readGoal = 1.03

    init(_ directory: URL, rounds: Int) {
        self.directory = directory.appendingPathComponent("rollout")
        self.rounds = rounds
    }

    func measure() throws {
        try measureWrites()
        try measureReads()
        try ShadowReadRun(directory.appendingPathComponent("shadow"), rounds: rounds).measure()
        try KillUsers(directory.appendingPathComponent("kill")).measure()
    }

    // MARK: Writes

    /// Durable writes of one record, each in a separate transaction.
    private func measureWrites() throws {
        let users = try RolloutUsers(directory.appendingPathComponent("writes"))
        let stores = try users.stores()
        let bare = try bareStores("writes")
        let staged = try [Stage.off, .dualwrite, .live].map { ($0, try users.store(stores, $0.rawValue, at: $0)) }
        var times: [String: [Double]] = [:]
        for _ in 0..<rounds {
            for (name, store) in bare { try time(name, &times) { try write(store) } }
            for (stage, store) in staged { try time(stage.rawValue, &times) { try write(store) } }
        }
        func median(_ name: String) -> Double { (times[name] ?? []).sorted()[rounds / 2] }
        let sum = median("SQLite") + median("LMDB")
        print("\nDurable writes of one record: \(rounds) rounds of \(Self.writes) in turn; medians.\n")
        print("| store | µs | ratio to SQLite + LMDB | goal | met |")
        print("|---|---:|---:|---:|---|")
        for name in bare.map(\.0) + staged.map(\.0.rawValue) {
            let ratio = median(name) / sum
            let isGoal = name == Stage.dualwrite.rawValue
            let cells = [
                name, Self.decimal(median(name) * 1000 / Double(Self.writes), 1), Self.decimal(ratio, 2),
                isGoal ? "≤ \(Self.writeGoal)" : "–", isGoal ? (ratio <= Self.writeGoal ? "yes" : "no") : "–",
            ]
            print("| \(cells.joined(separator: " | ")) |")
        }
        close(bare.map(\.1), staged.map(\.1))
    }

    private func write(_ store: any HabitStore) throws {
        for number in 0..<Self.writes { try store.save(Draft(content: "draft \(number)", creationDate: .now)) }
    }

    // MARK: Reads

    /// Reads of one record by its identifier, each in a separate transaction, through the user's store and from the same file without it.
    private func measureReads() throws {
        let users = try RolloutUsers(directory.appendingPathComponent("reads"))
        let stores = try users.stores()
        let records = (0..<Self.records).map { Draft(content: "draft \($0)", creationDate: .now) }
        let identifiers = (0..<Self.reads).map { records[$0 &* 7919 % records.count].id }
        print("\nReads of one record by its identifier: \(rounds * 3) rounds of \(Self.reads) in turn; medians.\n")
        print("| stage | engine | µs | engine alone, µs | ratio | goal | met |")
        print("|---|---|---:|---:|---:|---:|---|")
        for stage in Stage.allCases where stage.shadow == nil {
            let store = try stores.store(for: stage.rawValue)
            try store.write(author: nil) { transaction in for record in records { try transaction.save(record) } }
            _ = try users.store(stores, stage.rawValue, at: stage)
            let address = try stores.currentAddress(of: stage.rawValue)
            let bare = try address.open(.readWrite, schema: HabitSchema.current)
            var times: [String: [Double]] = [:]
            for _ in 0..<rounds * 3 {
                try time("bare", &times) { try read(bare, identifiers) }
                try time("user", &times) { try read(store, identifiers) }
            }
            close([bare], [store])
            let (own, ours) = (times["bare"] ?? [], times["user"] ?? [])
            // Compares measurements that follow each other, since machines change their speed.
            let ratio = zip(ours, own).map { $0 / $1 }.sorted()[rounds * 3 / 2]
            let cells = [
                stage.rawValue, address.engine == .sqlite ? "SQLite" : "LMDB", perRead(ours), perRead(own),
                Self.decimal(ratio, 3), "≤ \(Self.readGoal)", ratio <= Self.readGoal ? "yes" : "no",
            ]
            print("| \(cells.joined(separator: " | ")) |")
        }
    }

    private func perRead(_ times: [Double]) -> String {
        Self.decimal(times.sorted()[times.count / 2] * 1000 / Double(Self.reads), 3)
    }

    private func read(_ store: any HabitStore, _ identifiers: [UUID]) throws {
        for id in identifiers {
            guard try store.model(Draft.self, id: id) != nil else { throw BenchError("a record is missing") }
        }
    }

    // MARK: Shared helpers

    private func bareStores(_ name: String) throws -> [(String, any MaintainableStore)] {
        let folder = directory.appendingPathComponent(name).path
        return [
            ("SQLite", try SQLiteHabitStore(path: folder + "/bare.sqlite", schema: HabitSchema.current)),
            ("LMDB", try LMDBHabitStore(path: folder + "/bare.lmdb", schema: HabitSchema.current)),
        ]
    }

    private func close(_ bare: [any MaintainableStore], _ users: [UserStore]) {
        for store in bare { store.close() }
        for store in users { store.close() }
    }

    private func time(_ name: String, _ times: inout [String: [Double]], _ body: () throws -> Void) throws {
        let start = ContinuousClock.now
        try body()
        times[name, default: []].append((ContinuousClock.now - start) / .milliseconds(1))
    }

    private static func decimal(_ value: Double, _ digits: Int) -> String { String(format: "%.\(digits)f", value) }
}
