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
}
