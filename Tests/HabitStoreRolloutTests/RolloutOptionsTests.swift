import HabitStore
import HabitTracker
import Testing

@testable import HabitStoreRollout

/// Invalid options that took effect only later: they crashed the process, or took the user to another version.
@Suite("Options that are refused")
struct RolloutOptionsTests {
    @Test(arguments: [-1, -.infinity, .infinity, .nan, 1e300])
    func timesThatAreNone(_ seconds: Double) throws {
        let changes: [(String, (inout RolloutOptions) -> Void)] = [
            ("recheckSeconds", { $0.recheckSeconds = seconds }), ("advanceSeconds", { $0.advanceSeconds = seconds }),
            ("lockWaitSeconds", { $0.lockWaitSeconds = seconds }),
            ("stepLimitSeconds", { $0.stepLimitSeconds = seconds }),
            ("mirror.retrySeconds", { $0.mirror.retrySeconds = seconds }),
            ("shadowReads.comparisonSeconds", { $0.shadowReads.comparisonSeconds = seconds }),
        ]
        let user = try StagedUser()
        for (name, change) in changes {
            let error = #expect(throws: HabitStoreError.self) { try user.stores(change) }
            #expect(error?.code == .invalidValue && error?.message.contains("option \(name) is") == true)
        }
    }

    @Test func aPlanThatEndsWithAnotherVersionThanTheSchemas() throws {
        let user = try StagedUser()
        let error = #expect(throws: HabitStoreError.self) {
            try user.stores(schema: HabitSchemaV1.schema) { $0.migrationPlan = HabitMigrationPlan.self }
        }
        #expect(error?.code == .schemaMismatch && error?.message.contains("ends with version 3.0.0") == true)
    }
}
