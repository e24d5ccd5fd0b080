import HabitStoreTesting
import Testing

@testable import HabitStoreLMDB

extension TemporaryFolder {
    /// The path of its store.
    var store: String { path("store.lmdb") }

    /// Opens the folder's store, with a database for records.
    func openRecords(mapSizeBytes: Int = 64 << 20) throws -> (LMDBEnvironment, LMDBDatabase) {
        let options = LMDBWrapperTestSample.options(mapSizeBytes: mapSizeBytes)
        let environment = try LMDBEnvironment.open(path: store, options: options)
        return (environment, try #require(try environment.openDatabases(names: ["records"], create: true).first))
    }

    /// Changes a database of the folder's store without the engine.
    func tamper(
        _ name: String,
        _ body: (LMDBTransaction, LMDBDatabase, _ contents: LMDBTransaction.Contents) throws -> Void
    ) throws {
        let environment = try LMDBEnvironment.open(path: store, options: LMDBWrapperTestSample.options())
        defer { environment.close() }
        let database = try #require(try environment.openDatabases(names: [name], create: false).first)
        try environment.withWrite { try body($0, database, $0.contents(database)) }
    }
}

extension LMDBTransaction {
    typealias Contents = [(key: [UInt8], value: [UInt8])]

    /// All records of a database in order.
    func contents(_ database: LMDBDatabase) throws -> Contents {
        var contents: Contents = []
        try forEach(database) { record in
            contents.append((Array(record.key), Array(record.value)))
            return true
        }
        return contents
    }
}
