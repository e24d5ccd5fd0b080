import Foundation
import HabitStore
import HabitStoreLMDB
import HabitStoreTesting
import HabitTracker
import Testing

/// A task that a transaction's closure had started went on to read a relationship when the closure had ended: from a
/// connection that another caller had by then. That caller's sound read failed, or the process died somewhere else. Now the
/// one who reads it is told, at the line that does.
struct LMDBEscapeTests {
    @Test(arguments: RelationshipEscape.allCases)
    func aRelationshipOutsideOfItsTransactionIsATrap(_ escape: RelationshipEscape) async throws {
        let folder = try LMDBWrapperTestFolder()
        let path = folder.path()
        let result = try await #require(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            [escape, path = path as String] in
            try await escape.make(in: try LMDBHabitStore(path: path, schema: HabitSchema.current))
        }
        withExtendedLifetime(folder) {}
        let said = String(decoding: result.standardErrorContent, as: UTF8.self)
        #expect(said.contains(RelationshipEscape.sentence), "\(said)")
    }
}
