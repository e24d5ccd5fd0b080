import ArgumentParser
import Foundation
@_spi(Engines) import HabitStore
import HabitStoreLMDB
import HabitStorePostgres
import HabitStoreSQLite
@_spi(Engines) import HabitStoreTesting
import HabitTracker
import MappedTesting
import Synchronization

/// A fuzz run with its options.
struct FuzzRun {
    private let options: FuzzCommand

    /// The number of seconds between two lines of progress.
    private static let progressSeconds = 10.0
    /// The seed of the random records.
    private static let dataSeed: UInt64 = 2_026

    init(_ options: FuzzCommand) { self.options = options }

    /// Runs the queries and prints the results.
    ///
    /// - Returns: whether all stores agreed.
    func run() throws -> Bool {
        let data = try self.data()
        let outcomes = Mutex<[Result<QueryFuzzReport, any Error>]>([])
        let jobs = options.jobs
        DispatchQueue.concurrentPerform(iterations: jobs) { job in
            let outcome = Result { try self.run(job: job, of: jobs, data) }
            outcomes.withLock { $0.append(outcome) }
        }
        var total: QueryFuzzReport?
        var disagrees = false
        for outcome in outcomes.withLock({ $0 }) {
            switch outcome {
            case .success(let report): total = total.map { $0 + report } ?? report
            case .failure(let disagreement as FuzzDisagreement):
                print(disagreement)
                disagrees = true
            case .failure(let error): throw error
            }
        }
        if let total { print("no disagreement: \(total)") }
        return !disagrees
    }

    private func run(job: Int, of jobs: Int, _ data: [FuzzData]) throws -> QueryFuzzReport {
        var first = options.first
        for _ in 1..<options.find {
            do {
                return try run(job: job, of: jobs, data, first: first)
            } catch let disagreement as FuzzDisagreement {
                print(disagreement)
                first = disagreement.query + 1
            }
        }
        return try run(job: job, of: jobs, data, first: first)
    }

    private func run(job: Int, of jobs: Int, _ data: [FuzzData], first: Int) throws -> QueryFuzzReport {
        let fuzz = QueryFuzz(
            seed: options.seed &+ UInt64(job),
            data: data,
            subjects: [.sqlite, .lmdb, .mapped, .inMemory] + StoreUnderTest.servers,
            first: first
        )
        var extent = options.extent
        if case .queries(let queries) = extent { extent = .queries(queries / jobs + (job < queries % jobs ? 1 : 0)) }
        var next = Self.progressSeconds
        return try fuzz.run(extent) { report in
            guard report.seconds >= next else { return }
            next = report.seconds + Self.progressSeconds
            print("\(report)")
            fflush(nil)
        }
    }

    private func data() throws -> [FuzzData] {
        var data: [FuzzData] = []
        if options.data != .specimens { data.append(try livedIn()) }
        if options.data != .livedIn { data.append(try .specimens(seed: Self.dataSeed)) }
        return data
    }

    /// The records of a copy of the fixture.
    private func livedIn() throws -> FuzzData {
        guard FileManager.default.fileExists(atPath: options.fixture) else {
            throw HabitStoreError(.notFound, "the lived-in store does not exist", at: .init(path: options.fixture))
        }
        let copy = FileManager.default.temporaryDirectory.appendingPathComponent(
            "fuzz-fixture-\(UUID().uuidString).sqlite"
        )
        try FileManager.default.copyItem(at: URL(fileURLWithPath: options.fixture), to: copy)
        let store = try SQLiteHabitStore(path: copy.path, schema: HabitSchema.current)
        let data = Result { try FuzzData(name: "lived-in", of: store) }
        store.close()
        for suffix in ["", "-wal", "-shm"] where FileManager.default.fileExists(atPath: copy.path + suffix) {
            try FileManager.default.removeItem(atPath: copy.path + suffix)
        }
        return try data.get()
    }
}

extension StoreUnderTest {
    /// A SQLite store.
    package static let sqlite = StoreUnderTest(name: "SQLite", isDurable: true) { directory, schema, identity, clock in
        try SQLiteHabitStore(
            path: directory.appendingPathComponent("store.sqlite").path,
            schema: schema,
            options: .init(identity: identity, now: clock)
        )
    }

    /// An LMDB store.
    package static let lmdb = StoreUnderTest(name: "LMDB", isDurable: true) { directory, schema, identity, clock in
        try LMDBHabitStore(
            path: directory.appendingPathComponent("store.lmdb").path,
            schema: schema,
            options: .init(identity: identity, now: clock)
        )
    }

    /// An app's own tables.
    package static let mapped = AppLayout(keys: .numbers).subject

    /// The connection URIs of the servers in `HABITSTORE_POSTGRES`, separated by spaces.
    package static let serverURIs =
        (ProcessInfo.processInfo.environment["HABITSTORE_POSTGRES"] ?? "").split(separator: " ").map(String.init)

    /// The stores on the first of these servers; empty without a server.
    package static let servers = serverURIs.prefix(1).map { StoreUnderTest.postgres($0) }

    /// A store on a server, named after the folder that other kinds of store use.
    package static func postgres(_ server: String) -> StoreUnderTest {
        StoreUnderTest(name: "PostgreSQL", isDurable: true) { directory, schema, identity, clock in
            try PostgresServer(server).prepare()
            return try PostgresHabitStore(
                PostgresPlace(server: server, name: directory.path),
                schema: schema,
                options: .init(identity: identity, now: clock)
            )
        }
    }
}

/// Asks all stores random queries, for a time or up to a number, and fails if one gives a different answer.
struct FuzzCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fuzz",
        abstract: "Run random queries on all stores, which must give equal answers.",
        discussion: "Exit codes: 0 all agreed; 1 a store gave a different answer; 2 the queries could not be run."
    )

    /// The data to query.
    enum DataChoice: String, CaseIterable, ExpressibleByArgument {
        case livedIn = "lived-in"
        case specimens
        case both
    }

    @Option(help: "Run for this many seconds.")
    var seconds: Double?

    @Option(help: "Run this many queries; 20000 if neither is given.")
    var queries: Int?

    @Option(help: "The seed from which all queries follow.")
    var seed: UInt64 = 1

    @Option(help: "Start at the query with this number, to repeat one.")
    var first = 0

    @Option(help: "The data to query.")
    var data = DataChoice.both

    @Option(help: "The lived-in store.")
    var fixture = "fixtures/lived-in.sqlite"

    @Option(help: "Stop after this many disagreements.")
    var find = 1

    @Option(help: "Threads, each with its own stores and seed.")
    var jobs = 1

    var extent: QueryFuzz.Extent { seconds.map { .seconds($0) } ?? .queries(queries ?? 20_000) }

    func validate() throws {
        guard seconds == nil || queries == nil else {
            throw ValidationError("--seconds and --queries cannot both be given")
        }
        guard seconds ?? 0 >= 0, queries ?? 0 >= 0, first >= 0 else {
            throw ValidationError("--seconds, --queries and --first must be 0 or more")
        }
        guard find >= 1, (1...64).contains(jobs) else {
            throw ValidationError("--find must be 1 or more, and --jobs from 1 to 64")
        }
    }

    func run() throws {
        let isAgreed: Bool
        do {
            isAgreed = try FuzzRun(self).run()
        } catch {
            FileHandle.standardError.write(Data("habitstore-trials fuzz: \(error)\n".utf8))
            throw ExitCode(2)
        }
        if !isAgreed { throw ExitCode.failure }
    }
}

/// Runs random live queries over random commits on all stores, and fails if an answer differs from a fetch.
struct LiveFuzzCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fuzz-live",
        abstract: "Compare random live queries with fetches after each of many random commits.",
        discussion:
            "Exit codes: 0 they agreed; 1 a live query gave a different answer; 2 the commits could not be made."
    )

    @Option(help: "How many commits, over all stores.")
    var commits = 200_000

    @Option(help: "The seed of the commits and the queries.")
    var seed: UInt64 = 1

    /// After this many commits a new store is used.
    private static let commitsOfAStore = 2_500

    func validate() throws {
        guard commits > 0 else { throw ValidationError("--commits must be 1 or more") }
    }

    func run() throws {
        do {
            try follow()
        } catch let disagreement as Disagreement {
            print(disagreement)
            throw ExitCode.failure
        } catch {
            FileHandle.standardError.write(Data("habitstore-trials fuzz-live: \(error)\n".utf8))
            throw ExitCode(2)
        }
    }

    private func follow() throws {
        var (done, run) = (0, seed)
        while done < commits {
            for store in [StoreUnderTest.sqlite, .lmdb, .mapped, .inMemory] where done < commits {
                let wanted = min(Self.commitsOfAStore, commits - done)
                let report = try LiveQueryTest(seed: run, commits: wanted).run(against: store)
                done += report.commits
                print("\(store): \(report); \(done) commits in all")
                fflush(nil)
            }
            run += 1
        }
        print("no disagreement in \(done) commits")
    }
}
