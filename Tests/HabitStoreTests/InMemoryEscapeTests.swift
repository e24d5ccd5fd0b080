import Dispatch
import Foundation
import HabitStore
import HabitStoreTesting
import HabitTracker
import Testing

/// A task started by a transaction's closure read a relationship after the closure had ended, from a connection that belonged to another caller by
/// then. That caller's sound read failed, or the process crashed elsewhere. Now the offending read traps at its own line.
struct InMemoryEscapeTests {
    @Test(arguments: EscapedRelationship.allCases)
    func aRelationshipOutsideOfItsTransactionIsATrap(_ escape: EscapedRelationship) async throws {
        let result = try await #require(processExitsWith: .failure, observing: [\.standardErrorContent]) { [escape] in
            try await escape.make(in: try InMemoryHabitStore(schema: HabitSchema.current))
        }
        let said = String(decoding: result.standardErrorContent, as: UTF8.self)
        #expect(said.contains(EscapedRelationship.sentence), "\(said)")
        // It said `\Entry.<computed 0x… (Optional<Habit>)>`.
        #expect(said.contains("the relationship Entry.habit was read"), "\(said)")
    }

    @Test func statisticsReadOnAnotherThreadMeanwhileAreATrapThatSaysSo() async throws {
        let result = try await #require(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            try InMemoryHabitStore(schema: HabitSchema.current).read { transaction in
                // Unsafe on purpose: the trap is what is tested.
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
