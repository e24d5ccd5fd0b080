import Foundation
@_spi(Engines) import HabitStore
import HabitStoreLMDB
import HabitStoreSQLite
import HabitTracker
import Testing

extension Result {
    /// Records an issue unless it is a failure with this code.
    func mustFail(with code: HabitStoreError.Code, sourceLocation: SourceLocation = #_sourceLocation) {
        let error = #expect(throws: HabitStoreError.self, sourceLocation: sourceLocation) { try self.get() }
        #expect(error?.code == code, "\(String(describing: error))", sourceLocation: sourceLocation)
    }
}

extension MigratedEngine {
    func openWithPlan(_ path: String, isReadOnly: Bool) -> Result<any EngineBackedStore, any Error> {
        switch self {
        case .sqlite:
            return Result {
                try SQLiteHabitStore(
                    path: path,
                    migrationPlan: HabitMigrationPlan.self,
                    options: .init(isReadOnly: isReadOnly)
                )
            }
        case .lmdb:
            return Result {
                try LMDBHabitStore(
                    path: path,
                    migrationPlan: HabitMigrationPlan.self,
                    options: .init(isReadOnly: isReadOnly)
                )
            }
        }
    }
}
