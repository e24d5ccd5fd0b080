import Dispatch
import Foundation
import HabitStore
import HabitStoreTesting
import HabitTracker
import Testing

/// A task that a transaction's closure had started went on to read a relationship when the closure had ended: from a
/// connection that another caller had by then. That caller's sound read failed, or the process died somewhere else. Now the
/// one who reads it is told, at the line that does.
struct InMemoryEscapeTests {
    @Test(arguments: RelationshipEscape.allCases)
    func aRelationshipOutsideOfItsTransactionIsATrap(_ escape: RelationshipEscape) async throws {
        let result = try await #require(processExitsWith: .failure, observing: [\.standardErrorContent]) { [escape] in
            try await escape.make(in: try InMemoryHabitStore(schema: HabitSchema.current))
        }
        let said = String(decoding: result.standardErrorContent, as: UTF8.self)
        #expect(said.contains(RelationshipEscape.sentence), "\(said)")
        // It said `\Entry.<computed 0x… (Optional<Habit>)>`.
        #expect(said.contains("the relationship Entry.habit was read"), "\(said)")
    }

    @Test func statisticsReadOnAnotherThreadMeanwhileAreATrapThatSaysSo() async throws {
        let result = try await #require(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            try InMemoryHabitStore(schema: HabitSchema.current).read { transaction in
                nonisolated(unsafe) let carried = transaction
                let isDone = DispatchSemaphore(value: 0)
                Thread.detachNewThread {
                    print(carried.statistics)
                    isDone.signal()
                }
                isDone.wait()
            }
        }
        let said = String(decoding: result.standardErrorContent, as: UTF8.self)
        #expect(said.contains("were read on another thread while its closure runs"), "\(said)")
    }
}
