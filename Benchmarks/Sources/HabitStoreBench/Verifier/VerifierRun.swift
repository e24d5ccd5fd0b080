import CYardstick
import Foundation
@_spi(Engines) import HabitStore
import HabitStoreImport
import HabitStoreLMDB
import HabitStoreSQLite
import HabitTracker
import ShadowVerifier
import Synchronization

/// Two stores of 200 habits and 200,000 entries, on SQLite and on LMDB: the cost of comparing their contents in full (next to the time that SQLite's
/// dbhash takes for two SQLite files of the same habits and entries), of comparing their kept digests, and of finding one difference; the cost of
/// comparing those two files as tables, next to SQLite's sqldiff; and the memory of a whole verification.
struct VerifierRun {
    static let childArgument = "verify-child"

    private let directory: URL
    private let rounds: Int

    init(_ directory: URL, rounds: Int) {
        self.directory = directory
        self.rounds = rounds
    }

    private func path(_ name: String) -> String { directory.appendingPathComponent(name).path }

    func measure() throws {
        try makeStores()
        let (sqlite, lmdb) = try Self.open(path("verified.sqlite"), path("verified.lmdb"))
        defer {
            sqlite.close()
            lmdb.close()
        }
        var times: [String: [Double]] = [:]
        for _ in 0..<rounds {
            let report = try Self.verify(sqlite, lmdb, .full)
            try require(report, .match)
            for level in report.levels { times[level.name, default: []].append(level.seconds * 1_000) }
            times["dbhash", default: []].append(try milliseconds { try hash("hashed-1.sqlite", "hashed-2.sqlite") })
            times["tables", default: []].append(try milliseconds { try compareTables() })
            if hasSqldiff { times["sqldiff", default: []].append(try milliseconds { try sqldiff() }) }
            times["quick", default: []].append(
                try milliseconds { try require(Self.verify(sqlite, lmdb, .keptDigests), .match) }
            )
        }
        try change(lmdb)
        for _ in 0..<rounds {
            times["located", default: []].append(
                try milliseconds { try require(Self.verify(sqlite, lmdb, .keptDigests), .mismatch) }
            )
        }
        show(times.mapValues { $0.sorted()[$0.count / 2] })
        try showMemory()
    }

    // MARK: The stores

    private func makeStores() throws {
        let data = BenchData(habits: 200, entriesEach: 1_000)
        let store = try SQLiteHabitStore(path: path("verified.sqlite"), schema: HabitSchema.current)
        try store.load(data)
        let mirror = try LMDBHabitStore(path: path("verified.lmdb"), schema: HabitSchema.current)
        try store.replicaRead { moment in
            try mirror.replicate { transaction in
                for entity in store.schema.entities.indices {
                    try moment.enumerate(entity: entity, after: nil) { id, record in
                        try transaction.put(entity: entity, id: id, record)
                        return true
                    }
                }
                try transaction.adopt(lineage: try moment.information().lineage, floor: .zero)
                try moment.enumerateHistory(after: .zero) {
                    try transaction.append($0)
                    return true
                }
            }
        }
        store.close()
        mirror.close()
        for name in ["hashed-1.sqlite", "hashed-2.sqlite"] {
            try YardstickContestant(.sqlite, .byIdentifier, data).load(path(name))
        }
    }

    private static func open(_ sqlite: String, _ lmdb: String) throws -> (SQLiteHabitStore, LMDBHabitStore) {
        (
            try SQLiteHabitStore(path: sqlite, schema: HabitSchema.current),
            try LMDBHabitStore(path: lmdb, schema: HabitSchema.current)
        )
    }

    /// Changes one entry in one store without a history entry.
    private func change(_ store: LMDBHabitStore) throws {
        let entry = try store.fetch(FetchDescriptor<Entry>(fetchLimit: 1)).first
        guard let entry else { throw BenchError("there are no entries") }
        try store.replicate { transaction in
            let values: [Value] = [.uuid(entry.id), .date(entry.date), .string("changed"), .null, .null]
            try transaction.put(entity: 1, id: entry.id, EncodedRecord(values, layout: Entry.entity.layout))
        }
    }

    // MARK: Measuring

    private static func verify(
        _ a: any MaintainableStore,
        _ b: any MaintainableStore,
        _ depth: VerificationDepth
    ) throws -> VerificationReport {
        var options = VerificationOptions()
        options.depth = depth
        return try ShadowVerifier(.init(name: "A", store: a), .init(name: "B", store: b), options: options).run()
    }

    private func require(_ report: VerificationReport, _ verdict: VerificationReport.Verdict) throws {
        guard report.verdict == verdict, report.differenceCount == (verdict == .match ? 0 : report.differences.count)
        else {
            throw BenchError("the verification found \(report.verdict.rawValue), not \(verdict.rawValue)")
        }
    }

    private func hash(_ names: String...) throws {
        var digests: Set<[UInt8]> = []
        for name in names {
            var digest = [UInt8](repeating: 0, count: 20)
            guard cy_dbhash(path(name), &digest) == 0 else { throw BenchError("cannot hash the database") }
            digests.insert(digest)
        }
        guard digests.count == 1 else { throw BenchError("the hashes of equal databases differ") }
    }

    private static let sqldiffPath = "/usr/bin/sqldiff"

    /// Debian has it in sqlite3-tools.
    private var hasSqldiff: Bool { FileManager.default.isExecutableFile(atPath: Self.sqldiffPath) }

    private func sqldiff() throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: Self.sqldiffPath)
        process.arguments = [path("hashed-1.sqlite"), path("hashed-2.sqlite")]
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let difference = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        guard process.terminationStatus == 0, difference.isEmpty else { throw BenchError("sqldiff found a difference") }
    }

    private func compareTables() throws {
        try require(TableComparison(path("hashed-1.sqlite"), path("hashed-2.sqlite")).run(), .match)
    }

    private func milliseconds(_ body: () throws -> Void) rethrows -> Double {
        let start = ContinuousClock.now
        try body()
        return (ContinuousClock.now - start) / .milliseconds(1)
    }

    private func show(_ medians: [String: Double]) {
        func text(_ name: String) -> String { String(format: "%.2f", medians[name] ?? .nan) }
        let contents = (medians["contents"] ?? .nan) + (medians["kept digests"] ?? .nan)
        let ratio = contents / (medians["dbhash"] ?? .nan)
        print("\nTwo stores of 200 habits and 200,000 entries, SQLite and LMDB; medians of \(rounds) rounds, ms.\n")
        print("| work | time | goal | met |")
        print("|---|---:|---|---|")
        print("| dbhash over two SQLite files | \(text("dbhash")) | | |")
        let share = String(format: "%.2f, %.2f of dbhash", contents, ratio)
        print("| contents in full, digests checked | \(share) | ≤ 0.50 | \(ratio <= 0.5 ? "yes" : "no") |")
        for (work, name, goal) in [
            ("found equal by kept digests", "quick", 5.0), ("one difference located", "located", 50),
        ] {
            let isMet = (medians[name] ?? .infinity) < goal
            print("| \(work) | \(text(name)) | < \(Int(goal)) | \(isMet ? "yes" : "no") |")
        }
        let tables = (medians["tables"] ?? .nan) / (medians["sqldiff"] ?? .nan)
        let ofSqldiff = tables.isNaN ? "no sqldiff here" : String(format: "%.2f of sqldiff", tables)
        let isMet = tables <= 1 ? "yes" : "no"
        print("| the two SQLite files as tables | \(text("tables")), \(ofSqldiff) | ≤ 1 | \(isMet) |")
        for level in ["store checks", "relationships", "history"] { print("| \(level) | \(text(level)) | | |") }
    }

    // MARK: Memory

    /// Verifies in a separate process, which reports its own peak.
    private func showMemory() throws {
        let output = try ChildProcess.output([Self.childArgument, path("verified.sqlite"), path("verified.lmdb")])
        print("\nMemory of a process that verifies them in full: \(output)")
    }

    /// The other process: reports its peak of private memory, without the pages mapped from files, which the kernel can reclaim.
    static func runChild(_ arguments: [String]) {
        do {
            let (sqlite, lmdb) = try open(arguments[2], arguments[3])
            let before = try status("RssAnon")
            let peaks = Mutex<(level: String, levels: [String: Int])>(("before", [:]))
            let watch = Thread {
                while true {
                    let now = (try? status("RssAnon")) ?? 0
                    peaks.withLock { $0.levels[$0.level] = max(now, $0.levels[$0.level] ?? 0) }
                    usleep(1_000)
                }
            }
            watch.start()
            _ = try ShadowVerifier(.init(name: "A", store: sqlite), .init(name: "B", store: lmdb)).run { progress in
                peaks.withLock { $0.level = progress.level }
            }
            let levels = peaks.withLock { $0.levels }
            let own = levels.values.max() ?? 0
            print(levels.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", "))
            let isMet = own <= 64 ? "yes" : "no"
            print("peak \(own) MB of private memory, \(before) MB before; goal ≤ 64: \(isMet).")
        } catch {
            FileHandle.standardError.write(Data("habitstore-bench: error: \(error)\n".utf8))
            exit(1)
        }
    }

    /// A line of the process's status in the kernel, in megabytes.
    private static func status(_ name: String) throws -> Int {
        let text = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        let line = text.split(separator: "\n").first { $0.hasPrefix(name + ":") }
        guard let line, let kilobytes = line.split(separator: " ").dropFirst().first.flatMap({ Int($0) }) else {
            throw BenchError("the system does not report a process's memory")
        }
        return kilobytes / 1_000
    }
}
