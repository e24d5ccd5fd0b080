import Foundation
import HabitStore
import HabitStoreLMDB
import HabitStoreTesting
import HabitTracker
import Testing

/// A task started by a transaction's closure read a relationship after the closure had ended, from a connection that belonged to another caller by
/// then. That caller's sound read failed, or the process crashed elsewhere. Now the offending read traps at its own line.
struct LMDBEscapeTests {
    @Test(arguments: EscapedRelationship.allCases)
    func aRelationshipOutsideOfItsTransactionIsATrap(_ escape: EscapedRelationship) async throws {
        let folder = try TemporaryFolder()
        let path = folder.store
        let result = try await #require(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            [escape, path = path as String] in
            try await escape.make(in: try LMDBHabitStore(path: path, schema: HabitSchema.current))
        }
        withExtendedLifetime(folder) {}
        let said = String(decoding: result.standardErrorContent, as: UTF8.self)
        #expect(said.contains(EscapedRelationship.sentence), "\(said)")
    }
}
