import Foundation
import HabitStoreTesting

@testable import HabitStoreLMDB

/// Files with every kind of page: several databases, branches, overflow values, deleted data.
enum LMDBWrapperTestSample {
    static let names = ["records", "index", "empty"]

    static func options(mapSizeBytes: Int = 64 << 20) -> LMDBOptions {
        var options = LMDBOptions()
        options.createsIfMissing = true
        options.mapSizeBytes = mapSizeBytes
        options.resizeWaitSeconds = 0.2
        return options
    }

    static func key(_ number: Int) -> [UInt8] { Array(String(format: "key-%08d", number).utf8) }

    /// Writes a file and closes it.
    static func make(path: String, seed: UInt64, records: Int = 400) throws {
        var random = SeededGenerator(seed: seed)
        let environment = try LMDBEnvironment.open(path: path, options: options())
        defer { environment.close() }
        let databases = try environment.openDatabases(names: names, create: true)
        for round in 0..<4 {
            try environment.withWrite { transaction in
                for number in 0..<records {
                    let isLong = Int.random(in: 0..<40, using: &random) == 0
                    let length = Int.random(in: 0..<(isLong ? 20_000 : 90), using: &random)
                    try transaction.put(databases[0], key(number * 4 + round), random.bytes(length))
                    try transaction.put(databases[1], random.bytes(Int.random(in: 1...60, using: &random)), [])
                }
            }
            try environment.withWrite { transaction in
                for _ in 0..<records / 3 {
                    try transaction.delete(databases[0], key(Int.random(in: 0..<records * 4, using: &random)))
                }
            }
        }
    }
}
