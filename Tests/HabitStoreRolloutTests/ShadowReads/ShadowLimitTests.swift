import Foundation
import HabitStore
import HabitStoreTesting
import HabitTracker
import Testing

@testable import HabitStoreRollout

/// Limits on the time of a comparison and on the number of waiting ones.
@Suite(.timeLimit(.minutes(5)))
struct ShadowLimitTests {
    @Test func aComparisonInAStoreThatHangsTimesOutAndTheOthersAreShed() throws {
        let user = try ShadowedUser { options in
            options.shadowReads.comparisonSeconds = 0.1
            options.shadowReads.queueLimit = 4
        }
        user.plan.inject(Fault(.hang, on: .reads))
        // A snapshot from before the fault may still answer for a while.
        repeat { _ = try user.store.all(Habit.self) } while !user.plan.waitForStrikes(1, seconds: 0.1)
        for _ in 0..<9 { _ = try user.store.all(Habit.self) }
        // Four have a place, one of which is being compared: it times out although its thread hangs.
        let counts = try user.counts(seconds: 0.5).filter { $0.key != .match }
        #expect(counts == [.timedOut: 1, .shed: 6])
        user.plan.heal()
        // The waiting ones are compared, and the late one is counted once.
        #expect(try user.counts() == [.match: 3])
        _ = try user.store.all(Habit.self)
        #expect(try user.counts() == [.match: 1])
    }

    @Test func aComparisonThatIsSlowIsEnded() throws {
        let user = try ShadowedUser { $0.shadowReads.comparisonSeconds = 0.03 }
        let habits = 200
        try user.store.write(author: nil) { transaction in
            for number in 0..<habits { try transaction.insert(Habit(name: "\(number)")) }
        }
        user.lie(.slow)
        _ = try user.store.all(Habit.self)
        #expect(try user.counts() == [.timedOut: 1])
        // All of them would take four seconds.
        #expect((1..<habits).contains(user.slowRows))
    }

    @Test func nothingIsCountedTwiceUnderLoad() throws {
        let user = try ShadowedUser { $0.shadowReads.queueLimit = 8 }
        let store = user.store
        let readers = 4
        let reads = 500
        DispatchQueue.concurrentPerform(iterations: readers) { number in
            for read in 0..<reads {
                let question = ShadowQuestion.allCases[(read + number) % ShadowQuestion.allCases.count]
                do { _ = try store.read { question.ask($0) } } catch { Issue.record("\(error)") }
            }
        }
        let counts = try user.counts()
        #expect(counts.values.reduce(0, +) == readers * reads)
        #expect(Set(counts.keys).isSubset(of: [.match, .shed]), "\(counts)")
        #expect(counts[.match, default: 0] > 0)
    }

    @Test func nothingIsComparedWhereTheOptionsSaySo() throws {
        let user = try StagedUser(at: .shadow) { try $0.save(Habit(name: "Run")) }
        let again = try user.stores { $0.shadowReads.oneIn = 0 }.store(for: "alice")
        defer { again.close() }
        #expect(try again.all(Habit.self).count == 1)
        #expect(again.files.leases.load()?.shadow == nil)
    }
}
