import Foundation
import HabitStoreTesting
import HabitTracker
import Testing

/// Properties of every habit, tested on random habits around the odd instants of many zones.
@Suite
struct StreakPropertyTests {
    private static let environment = ProcessInfo.processInfo.environment

    private static func generator(_ test: String = #function) -> SeededGenerator {
        SeededGenerator(seed: SeededGenerator.printedSeed(test, environment: environment))
    }

    @Test func streaksAreThoseOfADayByDayCount() throws {
        var generator = Self.generator()
        var longerThanOne = 0
        for _ in 0..<500 {
            let example = try StreakCase(periods: [1, 1, 1, 2, 3, 7, 10, 30], using: &generator)
            let fast = example.compute()
            let naive = try example.naive()
            #expect(fast.current == naive.current, "\(example)")
            #expect(fast.longest == naive.longest, "\(example)")
            if fast.longest > 1, fast.current > 0 { longerThanOne += 1 }
        }
        // With fewer, the examples could not distinguish a right answer from a wrong one.
        #expect(longerThanOne > 50)
    }

    @Test func theCurrentStreakIsNeverAboveTheLongest() throws {
        var generator = Self.generator()
        for _ in 0..<2_000 {
            let example = try StreakCase(periods: [1, 2, 7, 30], using: &generator)
            let streaks = example.compute()
            #expect(streaks.current >= 0 && streaks.current <= streaks.longest, "\(example)")
        }
    }

    @Test func theOrderOfTheEntriesDoesNotMatter() throws {
        var generator = Self.generator()
        for _ in 0..<500 {
            var example = try StreakCase(periods: [1, 2, 7], using: &generator)
            let before = example.compute()
            example.entries.shuffle(using: &generator)
            #expect(example.compute() == before, "\(example)")
        }
    }

    @Test func anotherEntryNeverLowersTheLongestStreakOfDays() throws {
        var generator = Self.generator()
        for _ in 0..<2_000 {
            var example = try StreakCase(periods: [1], using: &generator)
            let before = example.compute().longest
            example.entries.append(example.randomDate(days: 30, using: &generator))
            #expect(example.compute().longest >= before, "\(example)")
        }
    }

    @Test func withAnAnchorAnotherEntryNeverLowersTheLongestStreakOfAnyPeriod() throws {
        var generator = Self.generator()
        for _ in 0..<2_000 {
            var example = try StreakCase(periods: [2, 3, 7, 30], using: &generator)
            example.anchor = example.anchor ?? example.center
            let before = example.compute()
            example.entries.append(example.randomDate(days: 30, using: &generator))
            let after = example.compute()
            #expect(after.longest >= before.longest, "\(example)")
            #expect(after.current >= before.current, "\(example)")
        }
    }

    @Test func asDaysGoByTheLongestStreakStaysAndTheCurrentOneEitherStaysOrBreaks() throws {
        var generator = Self.generator()
        for _ in 0..<500 {
            var example = try StreakCase(periods: [1, 2, 7, 30], using: &generator)
            // No entry is on a later day, so only time changes. A past instant may be on a later day if the clock goes back over midnight.
            let zone = example.calendar.timeZone
            let today = try #require(LocalDay(containing: example.now, in: zone))
            example.entries.removeAll { LocalDay(containing: $0, in: zone).map { $0 > today } ?? true }
            var before = example.compute()
            for _ in 0..<60 {
                example.now += 86_400
                let after = example.compute()
                #expect(after.longest == before.longest, "\(example)")
                #expect(after.current == before.current || after.current == 0, "\(example)")
                before = after
            }
        }
    }
}
