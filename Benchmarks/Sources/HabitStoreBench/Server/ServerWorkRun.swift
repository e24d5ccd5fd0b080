import Foundation
import HabitStore
import HabitStorePostgres
import PostgresTesting

/// Reads and writes of a store on a server, compared with the same statements in the same round trips, hand-written in C.
///
/// The values that C writes are real: beforehand the store does all writes on a copy, and C writes the rows that they left on the server into its own
/// copy. At the end both copies have the same rows.
struct ServerWorkRun {
    private static let goal = 1.5
    private static let rangeDays = 30

    private let server: BenchServer
    private let rounds: Int
    private let data: BenchData

    /// The measurements of one kind of work.
    private struct Row {
        /// The medians of each round.
        var ours: [Double] = []
        var yardstick: [Double] = []
        /// The round trips of one operation; nil if they were not counted.
        var trips: Int?

        var ratios: [Double] { zip(ours, yardstick).map { $0 / $1 } }
    }

    /// The operations of both sides in a round.
    private struct Round {
        let entity: Int16
        let ids: [UUID]
        let ranges: [(descriptor: FetchDescriptor<PlainEntry>, walk: YardstickWalk)]
        var written: [ServerWork: [(entries: [PlainEntry], rows: YardstickRows)]] = [:]
    }

    init(_ server: BenchServer, rounds: Int) {
        (self.server, self.rounds) = (server, rounds)
        data = BenchData(habits: 20, entriesEach: 500, spare: 10_000)
    }

    func measure() throws {
        print(
            "\nA store of \(data.entries.count.grouped) entries on a server, \(rounds) rounds in turn; medians, and the rounds' ratios.\n"
        )
        print("| work | delay each way, ms | round trips | ours, ms | C, ms | ratio | least | greatest | goal | met |")
        print("|---|---:|---:|---:|---:|---:|---:|---:|---:|---|")
        let base = try PostgresHabitStore(server.place("base"), schema: PlainEntry.schema)
        defer { base.close() }
        try base.write(author: nil) { transaction in
            try PlainEntry.insert(habitsOf: data, transaction)
            try transaction.insert(contentsOf: data.entries.map(PlainEntry.init))
        }
        let proxy = try server.proxy()
        defer { proxy?.close() }
        for delay in [0, 1, 5] {
            guard delay == 0 || proxy != nil else {
                print("\nNo delay was added: the server is not on the loopback address.")
                continue
            }
            try measure(base, delay, delay == 0 ? nil : proxy)
        }
        if let proxy { try requireOneText(proxy) }
    }

    /// Checks that both sides have prepared the same statements.
    private func requireOneText(_ proxy: PostgresProxy) throws {
        let texts = proxy.preparedStatements
        for (name, texts) in texts where texts.count > 1 {
            throw BenchError("the statement \(name) of the yardstick is not the store's: \(texts.sorted())")
        }
    }

    private func measure(_ base: PostgresHabitStore, _ delay: Int, _ proxy: PostgresProxy?) throws {
        var rows: [ServerWork: Row] = [:]
        let uri = proxy.map { server.uri(through: $0) } ?? server.uri
        for number in 0..<rounds {
            let places = try server.copies(of: base, ["ours", "c", "template"])
            let round = try prepare(places[2], delayed: proxy != nil)
            let store = try PostgresHabitStore(
                PostgresPlace(server: uri, name: places[0].name),
                schema: PlainEntry.schema
            )
            let connection = try YardstickConnection(uri)
            proxy?.delaySeconds = Double(delay) / 1_000
            for work in ServerWork.allCases {
                try measure(work, round, store, connection, places[1].store, proxy, number, &rows[work, default: Row()])
            }
            proxy?.delaySeconds = 0
            store.close()
            if number == 0 { try requireSame(places) }
            for name in ["ours", "c", "template"] { try server.remove(name) }
        }
        for work in ServerWork.allCases { show(work, delay, rows[work] ?? Row()) }
    }

    // MARK: Preparing

    /// Does all writes of a round on a copy, and reads the rows that they left.
    private func prepare(_ place: PostgresPlace, delayed: Bool) throws -> Round {
        let store = try PostgresHabitStore(place, schema: PlainEntry.schema)
        defer { store.close() }
        let connection = try YardstickConnection(server.uri)
        let entity = try connection.entity(of: data.entries[0].id, in: place.store)
        let ids = Array(data.shuffled.prefix(ServerWork.read.count(delayed: delayed)))
        let ranges = try (0..<ServerWork.range.count(delayed: delayed)).map { number in
            let range = try range(number)
            let walk = try connection.walk(entity, from: range.first, to: range.last, in: place.store)
            return (range.descriptor, walk)
        }
        var round = Round(entity: entity, ids: ids, ranges: ranges)
        var spare = data.spare[...]
        for work in ServerWork.allCases where work.records > 0 {
            round.written[work] = try (0..<work.count(delayed: delayed)).map { number in
                let entries = work == .update ? [changed(number)] : spare.prefix(work.records).map(PlainEntry.init)
                if work != .update { spare = spare.dropFirst(work.records) }
                try write(entries, work, store)
                return (entries, try connection.rows(entity, entries.map(\.id), in: place.store))
            }
        }
        return round
    }

    /// A range of one habit's entries, of which there is one a day.
    private func range(_ number: Int) throws -> (descriptor: FetchDescriptor<PlainEntry>, first: UUID, last: UUID) {
        let habit = data.habits[number % data.habits.count].id
        let entries = data.entries.filter { $0.habitID == habit }
        let start = number * 7 % (entries.count - Self.rangeDays)
        let end = start + Self.rangeDays
        return (
            PlainEntry.range(habit, entries[start].date, entries[end].date), entries[start].id, entries[end - 1].id
        )
    }

    private func changed(_ number: Int) -> PlainEntry {
        var entry = PlainEntry(data.entries[number * 97 % data.entries.count])
        entry.value = Double(number) / 16 + 1_000
        return entry
    }

    private func write(_ entries: [PlainEntry], _ work: ServerWork, _ store: PostgresHabitStore) throws {
        try store.write(author: "bench") { transaction in
            switch work {
            case .update: try transaction.save(entries[0])
            case .insert: try transaction.insert(entries[0])
            default: try transaction.insert(contentsOf: entries)
            }
        }
    }

    // MARK: Measuring

    private func measure(
        _ work: ServerWork,
        _ round: Round,
        _ store: PostgresHabitStore,
        _ connection: YardstickConnection,
        _ copy: UUID,
        _ proxy: PostgresProxy?,
        _ number: Int,
        _ row: inout Row
    ) throws {
        var (ours, yardstick): ([Double], [Double]) = ([], [])
        for place in 0..<work.count(delayed: proxy != nil) {
            func doOurs() throws -> UInt64 {
                switch work {
                case .read: return try store.model(PlainEntry.self, id: round.ids[place])?.checksum ?? 0
                case .range: return try store.fetch(round.ranges[place].descriptor).checksum
                case .update, .insert, .batch:
                    try write(round.written[work, default: []][place].entries, work, store)
                    return 0
                }
            }
            func doYardstick() throws -> UInt64 {
                switch work {
                case .read: return try connection.read(round.ids[place], round.entity, in: copy)
                case .range: return try connection.range(round.ranges[place].walk, in: copy)
                case .update, .insert, .batch:
                    let rows = round.written[work, default: []][place].rows
                    try work == .update ? connection.update(rows, in: copy) : connection.insert(rows, in: copy)
                    return 0
                }
            }
            let sides = (number + place) % 2 == 0 ? [true, false] : [false, true]
            var (sums, trips): (Set<UInt64>, Set<[[String]]>) = ([], [])
            for isOurs in sides {
                proxy?.beginCounting()
                let start = ContinuousClock.now
                sums.insert(try isOurs ? doOurs() : doYardstick())
                let time = (ContinuousClock.now - start) / .milliseconds(1)
                if isOurs { ours.append(time) } else { yardstick.append(time) }
                if let proxy { trips.insert(proxy.roundTrips) }
            }
            guard sums.count == 1 else { throw BenchError("\(work.rawValue): the sides read different records") }
            guard trips.count <= 1 else {
                throw BenchError("\(work.rawValue): the sides sent different statements: \(trips)")
            }
            row.trips = trips.first?.count ?? row.trips
        }
        row.ours.append(LiveRun.median(ours))
        row.yardstick.append(LiveRun.median(yardstick))
    }

    /// Checks that the store accepts what C has written and finds nothing wrong with it, and that all stores have the same digests.
    private func requireSame(_ places: [PostgresPlace]) throws {
        let connection = try YardstickConnection(server.uri)
        let stores = places.map { "'\($0.store)'" }.joined(separator: ", ")
        let count = try connection.number(
            "SELECT count(DISTINCT digests::text || token) FROM hs_store WHERE store IN (\(stores))"
        )
        guard count == 1 else { throw BenchError("the stores do not have the same contents") }
        let store = try PostgresHabitStore(places[1], schema: PlainEntry.schema)
        defer { store.close() }
        let findings = try store.check { _ in }
        guard findings.isEmpty else { throw BenchError("the store that C wrote is damaged: \(findings)") }
    }

    private func show(_ work: ServerWork, _ delay: Int, _ row: Row) {
        let ratio = LiveRun.median(row.ratios)
        var cells = [work.rawValue, String(delay), row.trips.map(String.init) ?? "–"]
        cells += [LiveRun.median(row.ours), LiveRun.median(row.yardstick)].map { LiveRun.text($0, 3) }
        cells += [ratio, row.ratios.min() ?? .nan, row.ratios.max() ?? .nan].map { LiveRun.text($0, 2) }
        cells += LiveRun.goal(ratio, Self.goal)
        print("| \(cells.joined(separator: " | ")) |")
        fflush(nil)
    }
}
