import CLMDB
import HabitStore
import HabitStoreTesting
import Testing

@testable import HabitStoreLMDB

/// Batches leave room on their pages, and no trace of what reserved it.
@Suite struct LMDBAscendingPutsTests {
    private let folder: TemporaryFolder
    private let environment: LMDBEnvironment
    private let database: LMDBDatabase

    init() throws {
        folder = try TemporaryFolder()
        (environment, database) = try folder.openRecords()
    }

    private func leaves() throws -> Int {
        try environment.withRead { transaction in
            var statistics = MDB_stat()
            let handle = try transaction.activeHandle()
            try #require(mdb_stat(handle, try transaction.rawDatabase(database), &statistics) == 0)
            return statistics.ms_leaf_pages
        }
    }

    private func write(_ records: [(key: [UInt8], value: [UInt8])]) throws {
        try environment.withWrite { transaction in
            try LMDBAscendingPuts.run(transaction, database) { puts in
                for (key, value) in records {
                    try key.withUnsafeBytes { key in
                        _ = try value.withUnsafeBytes { try puts.put(key, $0, mode: .noOverwrite) }
                    }
                }
            }
        }
    }

    @Test(arguments: [0...60, 300...2_200, 0...9_000], [41, 42] as [UInt64])
    func aFileHoldsWhatWasPutAndNothingElse(lengths: ClosedRange<Int>, seed: UInt64) throws {
        print("seed \(seed)")
        var random = SeededGenerator(seed: seed)
        var expected: [[UInt8]: [UInt8]] = [:]
        for _ in 0..<4 {
            var batch: [[UInt8]: [UInt8]] = [:]
            for _ in 0..<Int.random(in: 1...600, using: &random) {
                let length = Int.random(in: 0..<20, using: &random) == 0 ? 511 : Int.random(in: 4...40, using: &random)
                // The length comes first, so no key is a prefix of another one.
                let key = [UInt8(length >> 8), UInt8(length & 0xFF)] + random.bytes(length - 2)
                batch[key] = random.bytes(Int.random(in: lengths, using: &random))
            }
            try write(batch.sorted { $0.key.lexicographicallyPrecedes($1.key) }.map { ($0.key, $0.value) })
            expected.merge(batch) { old, _ in old }
        }
        try environment.withRead { transaction in
            #expect(try transaction.count(database) == expected.count)
            try transaction.forEach(database) { record in
                #expect(expected[Array(record.key)] == Array(record.value))
                return true
            }
        }
        environment.close()
        #expect(try LMDBFileInspector.walk(path: folder.store).isEmpty)
    }

    @Test func recordsThatComeBetweenOthersDivideFewPages() throws {
        let value = [UInt8](repeating: 7, count: 80)
        try write((0..<20_000).map { (LMDBWrapperTestSample.key($0), value) })
        let before = try leaves()
        // About one for each page.
        for number in stride(from: 20, to: 20_000, by: 40) {
            try environment.withWrite { transaction in
                _ = try transaction.put(database, LMDBWrapperTestSample.key(number) + [1], value)
            }
        }
        #expect(try leaves() - before < before / 20)
    }

    @Test func aBatchThatFailsCannotBeCommitted() throws {
        let error = #expect(throws: HabitStoreError.self) {
            try environment.withWrite { transaction in
                try? LMDBAscendingPuts.run(transaction, database) { puts in
                    for number in 0..<2_000 {
                        try LMDBWrapperTestSample.key(number).withUnsafeBytes { key in
                            _ = try puts.put(key, UnsafeRawBufferPointer(start: nil, count: 0), mode: .upsert)
                        }
                    }
                    throw CancellationError()
                }
            }
        }
        #expect(error?.code == .internalInconsistency)
        #expect(try environment.withRead { try $0.count(database) } == 0)
    }
}
