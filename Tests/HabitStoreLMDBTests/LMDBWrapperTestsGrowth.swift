import Foundation
import HabitStore
import HabitStoreTesting
import Testing

@testable import HabitStoreLMDB

@Suite struct LMDBWrapperGrowthTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func open(mapSizeBytes: Int = 1 << 20) throws -> (LMDBEnvironment, LMDBDatabase) {
        try folder.openRecords(mapSizeBytes: mapSizeBytes)
    }

    private func write(_ environment: LMDBEnvironment, _ database: LMDBDatabase, _ numbers: Range<Int>) throws {
        let value = [UInt8](repeating: 3, count: 1_000)
        try environment.withWrite { transaction throws in
            for number in numbers { try transaction.put(database, LMDBWrapperTestSample.key(number), value) }
        }
    }

    @Test func theReserveGrowsByItself() throws {
        let (environment, database) = try open()
        for start in stride(from: 0, to: 8_000, by: 100) { try write(environment, database, start..<start + 100) }
        let figures = try environment.statistics()
        #expect(figures.usedBytes > 8 << 20)
        #expect(figures.mapSizeBytes >= figures.usedBytes)
        #expect(try environment.withRead { try $0.count(database) } == 8_000)
    }

    @Test func aTransactionLargerThanTheReserveIsAbsentAndSucceedsWhenTriedAgain() throws {
        let (environment, database) = try open()
        var failures = 0
        while true {
            do {
                try write(environment, database, 0..<6_000)
                break
            } catch let error as HabitStoreError {
                failures += 1
                #expect(error.code == .full)
                #expect(error.message.contains("reserve"))
                #expect(try environment.withRead { try $0.count(database) } == 0)
                try #require(failures < 10)
            }
        }
        #expect(failures >= 1)
        #expect(try environment.withRead { try $0.count(database) } == 6_000)
    }

    @Test func aLongReaderDelaysGrowingAndKeepsItsSnapshot() throws {
        let (environment, database) = try open()
        try write(environment, database, 0..<100)
        try environment.withRead { reader throws in
            var refused = 0
            for start in stride(from: 100, to: 2_000, by: 100) {
                do {
                    try write(environment, database, start..<start + 100)
                } catch let error as HabitStoreError {
                    #expect(error.code == .full || error.code == .busy)
                    refused += 1
                }
            }
            #expect(refused > 0, "without growth 2 MB do not fit into 1 MiB")
            #expect(try reader.count(database) == 100)
            #expect(try reader.get(database, LMDBWrapperTestSample.key(50))?.count == 1_000)
        }
        for start in stride(from: 0, to: 2_000, by: 100) { try write(environment, database, start..<start + 100) }
        #expect(try environment.withRead { try $0.count(database) } == 2_000)
    }

    @Test(.enabled(if: LMDBWrapperTestHelper.isAvailable, "needs a C compiler for the second process"))
    func growthByAnotherProcessIsFollowed() throws {
        let (environment, database) = try open()
        try write(environment, database, 0..<100)
        let program = try LMDBWrapperTestHelper.build(in: folder)
        for round in 1...3 {
            let count = round * 2_000
            let outcome = try LMDBWrapperTestHelper.run(program, ["grow", folder.store, "\(64 << 20)", "\(count)"])
            try #require(outcome.status == 0, "\(outcome.output)")
            #expect(environment.core.mapSizeBytes < 64 << 20 || round > 1)
            // Both a read and a write must notice, whichever comes first.
            if round.isMultiple(of: 2) { try write(environment, database, 100..<200) }
            #expect(try environment.withRead { try $0.count(database) } >= 100)
            let grown = try #require(try environment.openDatabases(names: ["grown"], create: false).first)
            #expect(try environment.withRead { try $0.count(grown) } == count)
        }
        try write(environment, database, 0..<300)
        #expect(try LMDBFileInspector.walk(path: folder.store).isEmpty)
    }

    @Test(.enabled(if: LMDBWrapperTestHelper.isAvailable, "needs a C compiler for the second process"))
    func aRemapWaitsForTheReaderOfAnotherThread() throws {
        let (environment, database) = try open()
        try write(environment, database, 0..<100)
        let program = try LMDBWrapperTestHelper.build(in: folder)
        try environment.withRead { reader throws in
            let outcome = try LMDBWrapperTestHelper.run(program, ["grow", folder.store, "\(64 << 20)", "4000"])
            try #require(outcome.status == 0, "\(outcome.output)")
            // This thread's own snapshot blocks it, and waiting would never end.
            #expect(throws: HabitStoreError.self) { try environment.withRead { _ in } }
            #expect(try reader.get(database, LMDBWrapperTestSample.key(99))?.count == 1_000)
        }
        #expect(try environment.withRead { try $0.count(database) } == 100)
    }

    @Test(.enabled(if: LMDBWrapperTestHelper.isAvailable, "needs a C compiler for the second process"))
    func aReaderThatDiedDoesNotMakeTheFileGrowForEver() throws {
        let (environment, database) = try open(mapSizeBytes: 64 << 20)
        try write(environment, database, 0..<200)
        let program = try LMDBWrapperTestHelper.build(in: folder)
        let outcome = try LMDBWrapperTestHelper.run(program, ["die-reading", folder.store])
        try #require(outcome.status == 0, "\(outcome.output)")
        func commits(_ count: Int) throws -> Int {
            for number in 0..<count { try write(environment, database, number % 200..<number % 200 + 1) }
            return try environment.statistics().usedBytes
        }
        let before = try commits(80)
        let after = try commits(200)
        #expect(after - before < 1 << 20, "\(before) and then \(after) bytes")
    }
}
