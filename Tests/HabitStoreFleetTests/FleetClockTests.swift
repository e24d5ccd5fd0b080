import Foundation
import HabitStore
import HabitStoreRollout
import RolloutTesting
import Synchronization
import Testing

@testable import HabitStoreFleet

/// The time for which a wave is watched does not depend on the adjustable clock.
@Suite(.timeLimit(.minutes(5)))
struct FleetClockTests {
    /// Clocks that a test sets.
    private final class SetClock: Sendable {
        private let shift = Mutex<(seconds: Double, isNewBoot: Bool)>((0, false))

        func set(_ seconds: Double) { shift.withLock { $0.seconds = seconds } }

        func restartMachine() { shift.withLock { $0.isNewBoot = true } }

        var clock: FleetClock {
            FleetClock {
                var reading = FleetClock.machine.read()
                let (seconds, isNewBoot) = self.shift.withLock { $0 }
                reading.time.addTimeInterval(seconds)
                reading.boot = isNewBoot ? "another" : "one"
                return reading
            }
        }
    }

    private static let plan =
        #"{"waves": [{"users": 2, "soakSeconds": 1.5}, {"percent": 100}], "lookSeconds": 0.1, "ioPressure": null}"#

    private func seconds(ofSoak test: TestFleet) throws -> Double {
        let entries = try test.fleet.ledger.read().entries
        let begun = try #require(entries.first { if case .soakBegan(0, _) = $0.event { true } else { false } })
        let done = try #require(entries.first { $0.event == .waveDone(wave: 0) })
        return try #require(done.uptimeSeconds) - (try #require(begun.uptimeSeconds))
    }

    /// A clock set forward by a day ended a wave's day immediately, and one set back prolonged it by a day.
    @Test(arguments: [86_400.0, -86_400]) func aClockThatJumpsChangesNothing(_ jump: Double) throws {
        let (test, clock) = (try TestFleet(3), SetClock())
        _ = try test.draw(Self.plan)
        let (end, told) = try test.run(
            clock: clock.clock,
            isTold: { line in if line.contains("is watched until") { clock.set(jump) } }
        )
        #expect(end == .done(passedOver: 0))
        let seconds = try seconds(ofSoak: test)
        #expect(seconds >= 1.5 && seconds < 30)
        #expect(told.contains { $0.contains("the clock was put \(jump < 0 ? "back" : "forward") by 86") }, "\(told)")
        #expect(
            try test.fleet.ledger.read().entries.contains {
                if case .clockMoved(let moved) = $0.event { abs(Double(moved) - jump) < 5 } else { false }
            }
        )
    }

    /// The same while no run is active.
    @Test(arguments: [86_400.0, -86_400]) func aClockThatJumpsBetweenTwoRunsChangesNothing(_ jump: Double) throws {
        let (test, clock) = (try TestFleet(3), SetClock())
        _ = try test.draw(Self.plan)
        _ = try test.run(
            clock: clock.clock,
            isTold: { line in
                if line.contains("is watched until") {
                    _ = try? test.fleet.halt(by: "a test", because: "to end the run")
                }
            }
        )
        clock.set(jump)
        #expect(try test.fleet.resume(by: "a test", because: "go on"))
        let (end, told) = try test.run(clock: clock.clock)
        #expect(end == .done(passedOver: 0))
        let seconds = try seconds(ofSoak: test)
        #expect(seconds >= 1.5 && seconds < 30)
        #expect(told.contains { $0.contains("is watched until") })
    }

    /// After a restart of the machine, only the time noted before it counts, whatever the time of day.
    @Test func afterTheMachineWasStartedAgainOnlyWhatRunsSawCounts() throws {
        func entry(_ boot: String?, _ uptime: Double?) -> FleetLedger.Entry {
            .init(
                event: .soakBegan(wave: 0, passedOver: 0),
                sequence: 7,
                time: Date(timeIntervalSince1970: 1_000),
                boot: boot,
                uptimeSeconds: uptime
            )
        }
        func reading(_ boot: String?, _ uptime: Double, _ time: Double) -> FleetClock.Reading {
            .init(time: Date(timeIntervalSince1970: time), boot: boot, uptimeSeconds: uptime)
        }
        let begun = entry("one", 500)
        let first = SoakClock(since: begun, noted: nil, reading("one", 560, 999_999))
        #expect(first.seconds == 60 && !first.isInterrupted)
        // Another boot, long after: the noted time counts, and the time from now on.
        let second = SoakClock(since: begun, noted: first.note, reading("two", 9_000, 999_999))
        #expect(second.seconds == 60 && second.isInterrupted)
        let third = SoakClock(since: begun, noted: second.note, reading("two", 9_025, 0))
        #expect(third.seconds == 85)
        // A rebuilt index has no note, and a note of another wave does not count.
        #expect(SoakClock(since: begun, noted: nil, reading("two", 9_000, 999_999)).seconds == 0)
        #expect(SoakClock(since: begun, noted: "6 one 1 99", reading("two", 9_000, 0)).seconds == 0)
        #expect(SoakClock(since: begun, noted: "7 one nan 99", reading("two", 9_000, 0)).seconds == 0)
        // A line of an earlier version has only the time of day.
        #expect(SoakClock(since: entry(nil, nil), noted: nil, reading("two", 9_000, 1_030)).seconds == 30)
        #expect(SoakClock(since: entry(nil, nil), noted: nil, reading("two", 9_000, 900)).seconds == 0)
    }

    /// With a clock that had been set back, a difference found after a `fleet resume` counted as handled.
    @Test func aClockThatIsPutBackHidesNoDifference() throws {
        let resumed = FleetLedger.Entry(
            event: .resumed(by: "a", because: "b"),
            sequence: 1,
            time: Date(timeIntervalSince1970: 10_000),
            boot: "one",
            uptimeSeconds: 100
        )
        var contents = FleetLedger.Contents()
        contents.entries = [resumed]
        let now = FleetClock.Reading(time: Date(timeIntervalSince1970: 6_450), boot: "one", uptimeSeconds: 150)
        #expect(contents.earliest(since: resumed, now).timeIntervalSince1970 == 6_400)
        let forward = FleetClock.Reading(time: Date(timeIntervalSince1970: 90_000), boot: "one", uptimeSeconds: 150)
        #expect(contents.earliest(since: resumed, forward).timeIntervalSince1970 == 10_000)
        let other = FleetClock.Reading(time: Date(timeIntervalSince1970: 6_450), boot: "two", uptimeSeconds: 1)
        #expect(contents.earliest(since: resumed, other).timeIntervalSince1970 == 10_000)
    }

    @Test func theLedgerKeepsBothClocksAndReadsLinesWithoutThem() throws {
        let test = try TestFleet(2)
        _ = try test.draw(TestFleet.twoWaves)
        let line = try #require(try test.fleet.ledger.read().entries.first)
        #if os(Linux)
        #expect(line.boot?.count == 36)
        #endif
        #expect((line.uptimeSeconds ?? 0) > 0)
        let old = #"{"event":{"waveDone":{"wave":1}},"sequence":3,"time":0}"#
        #expect(try JSONDecoder().decode(FleetLedger.Entry.self, from: Data(old.utf8)).boot == nil)
    }
}
