import ArgumentParser
import Foundation
@_spi(Engines) import HabitStore
@_spi(Engines) import HabitStoreRollout
import HabitStoreSQLite
import HabitTracker
import StandardEngines
import Synchronization

/// One of several processes that use a user's store at the same time, for tests.
struct TrafficCommand: ParsableCommand {
    /// The kind of work.
    enum Work: String, CaseIterable, ExpressibleByArgument {
        /// Write until standard input ends, and then print the operations: see ``TrafficLine``.
        case write
        /// Read until standard input ends, and then print the operations.
        case read
        /// Use this many users one after another: see ``ManyUsersReport``.
        case many
        /// Give SQLite's caches this many bytes: see ``CacheReport``.
        case caches
        /// Run out of file descriptors: see ``CrowdedProcess``.
        case crowded

        var needsNumber: Bool { self == .many || self == .caches }
    }

    static let configuration = CommandConfiguration(
        commandName: "traffic",
        abstract: "Use stores together with other processes; started by tests.",
        shouldDisplay: false
    )

    @Argument var work: Work

    @Argument(help: "The root of the users' stores.")
    var root: String

    @Argument(help: "The flag file.")
    var flags: String

    @Argument(help: "The file for the results.")
    var log: String

    @Argument(help: "The number of users or bytes.")
    var number: Int?

    func validate() throws {
        guard work.needsNumber == (number != nil) else {
            throw ValidationError("'many' and 'caches' need a number; the others take none")
        }
    }

    func run() throws { try report().write(to: URL(fileURLWithPath: log)) }

    private func report() throws -> Data {
        switch work {
        case .caches: try CacheReport.make(root: root, budgetBytes: number ?? 0).data()
        case .crowded: Data("\(try CrowdedProcess.run(root: root, flags: flags))".utf8)
        case .many: try ManyUsersReport.make(try stores(), users: number ?? 0).data()
        case .write, .read: Data(try lines().map { $0.description + "\n" }.joined().utf8)
        }
    }

    private func stores() throws -> UserStores {
        var options = RolloutOptions()
        options.advancesByItself = false
        options.gate.cleanShadowReads = 1
        options.logger.logLevel = .critical
        return try UserStores(root: root, flags: flags, schema: HabitSchema.current, options: options)
    }

    private func lines() throws -> [TrafficLine] {
        let store = try stores().store(for: "alice")
        defer { store.close() }
        let isOver = InputEnd()
        var lines: [TrafficLine] = []
        while !isOver.isReached {
            guard work == .read else {
                lines.append(TrafficLine.write(store))
                continue
            }
            lines.append(TrafficLine.read(store))
            // Reads are so fast that without a pause there would be a million of them.
            usleep(500)
        }
        return lines
    }
}

/// An operation: its kind, its beginning and end in nanoseconds of CLOCK_MONOTONIC, which all processes share, the number that it wrote or read (-1
/// if
/// none), its outcome, and the record that it wrote.
///
/// In a file it is a line of these fields, separated by spaces: `write 1000 2000 17 ok 123E4567-E89B-12D3-A456-426614174000`.
package struct TrafficLine: CustomStringConvertible, Sendable {
    /// The record in which all writers count.
    package static let counter = UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1))
    /// The outcome of a successful operation.
    package static let ok = "ok"

    package var isWrite: Bool
    package var begin: UInt64
    package var end: UInt64
    package var number: Int
    /// ``ok``, or the code of the error.
    package var outcome: String
    package var id: UUID

    package var description: String {
        "\(isWrite ? "write" : "read") \(begin) \(end) \(number) \(outcome) \(id.uuidString)"
    }

    /// Parses a line; nil if the text is not one.
    package init?(parsing line: some StringProtocol) {
        let parts = line.split(separator: " ")
        guard parts.count == 6, let begin = UInt64(parts[1]), let end = UInt64(parts[2]), let number = Int(parts[3]),
            let id = UUID(uuidString: String(parts[5]))
        else { return nil }
        isWrite = parts[0] == "write"
        (self.begin, self.end, self.number, self.id) = (begin, end, number, id)
        outcome = String(parts[4])
    }

    private init(isWrite: Bool, _ operation: (inout Int, UUID) throws -> Void) {
        self.isWrite = isWrite
        id = UUID()
        number = -1
        begin = Self.now()
        do {
            try operation(&number, id)
            outcome = Self.ok
        } catch let error as HabitStoreError {
            outcome = error.code.rawValue
        } catch {
            outcome = "untyped"
        }
        end = Self.now()
    }

    /// Increments the counter, and writes a separate record in the same transaction.
    static func write(_ store: some HabitStore) -> TrafficLine {
        TrafficLine(isWrite: true) { number, id in
            try store.write(author: "traffic") { transaction in
                let last = try transaction.model(Draft.self, id: counter).flatMap { Int($0.content) } ?? 0
                number = last + 1
                let time = Date(timeIntervalSince1970: 0)
                try transaction.save(Draft(id: counter, content: String(number), creationDate: time))
                try transaction.insert(Draft(id: id, content: String(number), creationDate: time))
            }
        }
    }

    /// Reads the counter.
    static func read(_ store: some HabitStore) -> TrafficLine {
        TrafficLine(isWrite: false) { number, _ in
            number = try store.read { transaction in
                try transaction.model(Draft.self, id: counter).flatMap { Int($0.content) } ?? 0
            }
        }
    }

    private static func now() -> UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }
}

/// Notices when standard input ends: the parent process is finished with this process, or dead.
final class InputEnd: Sendable {
    private let flag = Atomic<Bool>(false)

    var isReached: Bool { flag.load(ordering: .relaxed) }

    init() {
        Thread.detachNewThread { [self] in
            while readLine() != nil {}
            flag.store(true, ordering: .relaxed)
        }
    }
}

/// A process that has as many files open as it may when a user's mirror first fails.
enum CrowdedProcess {
    /// The time for the mirror to retry several times, in seconds.
    private static let retryingSeconds = 0.5

    /// Uses the user `alice`, whose mirror cannot be opened, at first because the process has no file descriptors left.
    ///
    /// - Returns: the number of drafts at the end.
    static func run(root: String, flags: String) throws -> Int {
        let taken = Mutex<[Int32]?>(nil)
        var options = RolloutOptions()
        options.followsFlags = false
        options.advancesByItself = false
        options.mirror.retrySeconds = 0.05
        options.logger.logLevel = .critical
        options.opener = { address, access, schema in
            guard address.engine == .lmdb else { return try address.open(access, schema: schema) }
            taken.withLock { if $0 == nil { $0 = allFiles() } }
            throw HabitStoreError(.inputOutput, "no more files can be opened", at: .init(path: address.path))
        }
        let stores = try UserStores(root: root, flags: flags, schema: HabitSchema.current, options: options)
        let store = try stores.store(for: "alice")
        defer { store.close() }
        Thread.sleep(forTimeInterval: retryingSeconds)
        guard let files = taken.withLock({ $0 }), !files.isEmpty else {
            throw HabitStoreError(.internalInconsistency, "the mirror was not opened")
        }
        for file in files { close(file) }
        try store.save(Draft(content: "after"))
        return try store.fetchCount(FetchDescriptor<Draft>())
    }

    private static func allFiles() -> [Int32] {
        var files: [Int32] = []
        while true {
            let file = open("/dev/null", O_RDONLY | O_CLOEXEC)
            guard file >= 0 else { return files }
            files.append(file)
        }
    }
}

/// The result of a process that wrote to many users one after another, kept all of their stores, and read them again.
package struct ManyUsersReport: CustomStringConvertible, Codable, Sendable {
    /// How many users' files could be open at the same time.
    package var limit = 0
    /// The number of users written to.
    package var written = 0
    /// The number of users whose writes were found again.
    package var found = 0
    package var failures = 0
    package var firstFailure = ""
    package var mostOpenUsers = 0
    /// The process's peak number of open files, as the system counts them; 0 if it does not.
    package var mostOpenFiles = 0

    package var description: String {
        "\(written) users written, \(found) found again, \(failures) failures, \(mostOpenUsers) of \(limit) users and "
            + "\(mostOpenFiles) files open at most"
    }

    private init() {}

    /// Parses a report; nil if the text is not one.
    package init?(parsing text: String) {
        guard let report = try? JSONDecoder().decode(Self.self, from: Data(text.utf8)) else { return nil }
        self = report
    }

    /// The report as JSON.
    func data() throws -> Data { try JSONEncoder().encode(self) }

    /// Writes to this many users and reads them. Every tenth is moved to the stage `dualwrite`, with both stores open.
    static func make(_ stores: UserStores, users: Int) -> ManyUsersReport {
        var report = ManyUsersReport()
        report.limit = RolloutOptions.defaultMaximumOpenUsers(.standard)
        var handles: [UserStore] = []
        for number in 0..<users {
            report.count(stores) { report in
                let store = try stores.store(for: "user-\(number)")
                handles.append(store)
                if number.isMultiple(of: 10) { try store.promote(to: .dualwrite) }
                try store.save(Draft(content: "\(number)"))
                report.written += 1
            }
        }
        for (number, store) in handles.enumerated() {
            report.count(stores) { report in
                if try store.all(Draft.self).map(\.content) == ["\(number)"] { report.found += 1 }
            }
        }
        return report
    }

    private mutating func count(_ stores: UserStores, _ work: (inout Self) throws -> Void) {
        do {
            try work(&self)
        } catch {
            if failures == 0 { firstFailure = "\(error)" }
            failures += 1
        }
        mostOpenUsers = max(mostOpenUsers, stores.openUserCount)
        mostOpenFiles = max(
            mostOpenFiles,
            (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count) ?? 0
        )
    }
}

/// The memory of SQLite's caches in a process that read all records of several larger users with all of their stores open.
package struct CacheReport: Codable, Sendable {
    /// The number of users read.
    package var users = 0
    /// SQLite's peak memory in bytes.
    package var mostBytes = 0

    private init() {}

    /// Parses a report; nil if the text is not one.
    package init?(parsing text: String) {
        guard let report = try? JSONDecoder().decode(Self.self, from: Data(text.utf8)) else { return nil }
        self = report
    }

    /// The report as JSON.
    func data() throws -> Data { try JSONEncoder().encode(self) }

    /// Writes about three MiB for each of twelve users, and reads them again.
    static func make(root: String, budgetBytes: Int) throws -> CacheReport {
        var options = RolloutOptions()
        options.advancesByItself = false
        options.followsFlags = false
        options.maximumOpenUsers = 12
        options.cacheBudgetBytes = budgetBytes
        options.logger.logLevel = .critical
        let stores = try UserStores(root: root, flags: nil, schema: HabitSchema.current, options: options)
        var report = CacheReport()
        var handles: [UserStore] = []
        for number in 0..<12 {
            let store = try stores.store(for: "user-\(number)")
            let content = String(repeating: "x", count: 3_000)
            try store.insert((0..<1_000).map { Draft(content: "\($0) \(content)") })
            handles.append(store)
        }
        for _ in 0..<2 {
            for store in handles {
                guard try store.all(Draft.self).count == 1_000 else {
                    throw HabitStoreError(.internalInconsistency, "a user has lost drafts")
                }
                report.mostBytes = max(report.mostBytes, SQLiteHabitStore.memoryBytes)
            }
        }
        report.users = stores.openUserCount
        return report
    }
}
