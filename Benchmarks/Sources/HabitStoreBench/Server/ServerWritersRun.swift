import Foundation
import HabitStore
import HabitStorePostgres
import Synchronization

/// Eight writers that repeatedly change a record, each in a separate store, compared with `pgbench` with eight clients that send the same statements
/// in the same round trips.
struct ServerWritersRun {
    private static let writers = 8
    private static let seconds = 4
    private static let goal = 0.7

    private let server: BenchServer
    private let rounds: Int
    private let directory: URL
    private let data = BenchData(habits: 20, entriesEach: 50)

    init(_ server: BenchServer, _ directory: URL, rounds: Int) {
        (self.server, self.directory, self.rounds) = (server, directory, rounds)
    }

    func measure() throws {
        guard let pgbench = BenchServer.program("pgbench") else {
            return print("\nThe writers were skipped: pgbench is not installed.")
        }
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        let base = try PostgresHabitStore(server.place("writers"), schema: PlainEntry.schema)
        defer { base.close() }
        try base.write(author: nil) { transaction in
            try PlainEntry.insert(habitsOf: data, transaction)
            try transaction.insert(contentsOf: data.entries.map(PlainEntry.init))
        }
        let ours = try server.copies(of: base, (0..<Self.writers).map { "writer-\($0)" })
        let others = try server.copies(of: base, (0..<Self.writers).map { "client-\($0)" })
        let stores = try ours.map { try PostgresHabitStore($0, schema: PlainEntry.schema) }
        defer { for store in stores { store.close() } }
        print(
            "\n\(Self.writers) writers, \(Self.seconds) seconds each, \(rounds) rounds in turn: transactions per second.\n"
        )
        print("| ours | pgbench | ratio | least | greatest | goal | met |")
        print("|---:|---:|---:|---:|---:|---:|---|")
        var (rates, yardsticks): ([Double], [Double]) = ([], [])
        for round in 0..<rounds {
            for isOurs in round % 2 == 0 ? [true, false] : [false, true] {
                if isOurs {
                    rates.append(try rate(stores, round))
                } else {
                    yardsticks.append(try rate(others, pgbench))
                }
            }
        }
        let parts = zip(rates, yardsticks).map { $0 / $1 }
        let part = LiveRun.median(parts)
        var cells = [LiveRun.median(rates), LiveRun.median(yardsticks)].map { LiveRun.text($0, 0) }
        cells += [part, parts.min() ?? .nan, parts.max() ?? .nan].map { LiveRun.text($0, 2) }
        cells += ["≥ \(Self.goal)", part >= Self.goal ? "yes" : "no"]
        print("| \(cells.joined(separator: " | ")) |")
        fflush(nil)
    }

    /// The stores' transactions per second.
    private func rate(_ stores: [PostgresHabitStore], _ round: Int) throws -> Double {
        let result = Mutex<Result<Int, any Error>>(.success(0))
        let done = DispatchGroup()
        let start = ContinuousClock.now
        let end = start + .seconds(Self.seconds)
        for store in stores {
            done.enter()
            let entry = PlainEntry(data.entries[0])
            Thread.detachNewThread {
                defer { done.leave() }
                do {
                    var (changed, count) = (entry, 0)
                    while ContinuousClock.now < end {
                        count += 1
                        changed.value = Double(round) + Double(count) / 1_000_000
                        try store.write(author: "bench") { try $0.save(changed) }
                    }
                    result.withLock { [count] result in result = result.map { $0 + count } }
                } catch {
                    result.withLock { $0 = .failure(error) }
                }
            }
        }
        done.wait()
        let time = (ContinuousClock.now - start) / .seconds(1)
        return Double(try result.withLock { try $0.get() }) / time
    }

    /// The transactions per second of pgbench.
    private func rate(_ places: [PostgresPlace], _ pgbench: String) throws -> Double {
        let script = directory.appendingPathComponent("update.sql")
        try Data(try text(places).utf8).write(to: script)
        let output = try ChildProcess.output(
            of: pgbench,
            [
                "-n", "-M", "prepared", "-c", String(places.count), "-j", "2", "-T", String(Self.seconds), "-D",
                "count=0",
                "-f", script.path, server.uri,
            ]
        )
        guard let rate = output.firstMatch(of: /tps = ([0-9.]+)/).flatMap({ Double($0.output.1) }),
            output.contains("number of failed transactions: 0 ")
        else { throw BenchError("pgbench failed: \(output)") }
        return rate
    }

    /// The script, in which each client changes a record in a separate store. Values are written out, except for the token and the version,
    /// which pgbench counts.
    private func text(_ places: [PostgresPlace]) throws -> String {
        let connection = try YardstickConnection(server.uri)
        let id = data.entries[0].id
        var text = "\\set count :count + 1\n"
        for (client, place) in places.enumerated() {
            let entity = try connection.entity(of: id, in: place.store)
            // The rows of such a write are read after one by the store itself.
            let store = try PostgresHabitStore(place, schema: PlainEntry.schema)
            var entry = PlainEntry(data.entries[0])
            entry.value = Double.random(in: 0..<1_000)
            try store.write(author: "bench") { [entry] in try $0.save(entry) }
            store.close()
            text += try connection.script(
                connection.rows(entity, [id], in: place.store),
                in: place.store,
                client: client
            )
        }
        return text
    }
}
