import Foundation
import HabitStore
import HabitStoreTesting
import Testing

@testable import HabitStoreLMDB

@Suite struct LMDBWrapperStressTests {
    /// Threads open, read, write, copy and close one file at the same time. Each writes a pair of equal values in one transaction: a reader that sees
    /// two different ones has seen half a commit.
    @Test(arguments: [31, 32] as [UInt64]) func threadsShareAFileWithoutTearingIt(seed: UInt64) async throws {
        print("seed \(seed)")
        let folder = try TemporaryFolder()
        let path = folder.store
        let options = LMDBWrapperTestSample.options(mapSizeBytes: 1 << 20)
        let written = try await withThrowingTaskGroup(of: Int.self) { group in
            for worker in 0..<6 {
                group.addTask {
                    var random = SeededGenerator(seed: seed &* 100 &+ UInt64(worker))
                    var commits = 0
                    for round in 0..<60 {
                        commits += try Self.session(path, options, worker: worker, round: round, &random)
                    }
                    return commits
                }
            }
            return try await group.reduce(0, +)
        }
        let environment = try LMDBEnvironment.open(path: path)
        let database = try #require(try environment.openDatabases(names: ["left"], create: false).first)
        #expect(try environment.withRead { try $0.count(database) } == written)
        environment.close()
        #expect(try LMDBFileInspector.walk(path: path) == [])
    }

    private static func session(
        _ path: String,
        _ options: LMDBOptions,
        worker: Int,
        round: Int,
        _ random: inout SeededGenerator
    ) throws -> Int {
        let environment = try LMDBEnvironment.open(path: path, options: options)
        defer { environment.close() }
        let databases = try retrying { try environment.openDatabases(names: ["left", "right"], create: true) }
        var commits = 0
        for step in 0..<8 {
            let key = LMDBWrapperTestSample.key((worker * 60 + round) * 8 + step)
            switch Int.random(in: 0..<3, using: &random) {
            case 0:
                let value = random.bytes(Int.random(in: 1...3_000, using: &random))
                try retrying {
                    try environment.withWrite { transaction throws in
                        try transaction.put(databases[0], key, value)
                        try transaction.put(databases[1], key, value)
                    }
                }
                commits += 1
            default:
                try retrying {
                    try environment.withRead { transaction throws in
                        #expect(try transaction.count(databases[0]) == transaction.count(databases[1]))
                        guard let found = try transaction.cursor(databases[0]).seek(key) else { return }
                        let other = try #require(try transaction.get(databases[1], found.key))
                        #expect(found.value.elementsEqual(other))
                    }
                }
            }
        }
        return commits
    }

    /// Retries only `.full` and `.busy`, which occur while the map grows under load.
    private static func retrying<Result>(_ body: () throws -> Result) throws -> Result {
        for _ in 0..<50 {
            do { return try body() } catch let error as HabitStoreError where [.full, .busy].contains(error.code) {
                continue
            }
        }
        return try body()
    }

    /// Many openings and closings of one file in direct succession: there are never two environments.
    @Test func openAndCloseRacesLeaveOneEnvironment() async throws {
        let folder = try TemporaryFolder()
        let path = folder.store
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    for _ in 0..<200 {
                        let first = try LMDBEnvironment.open(path: path, options: LMDBWrapperTestSample.options())
                        let second = try LMDBEnvironment.open(path: path)
                        #expect(first.core === second.core)
                        first.close()
                        try second.withRead { _ in }
                        second.close()
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try LMDBFileInspector.walk(path: path) == [])
        // No process holds the lock file any more: a new opening gets a fresh reader table.
        let last = try LMDBEnvironment.open(path: path)
        try last.withWrite { _ in }
    }
}
