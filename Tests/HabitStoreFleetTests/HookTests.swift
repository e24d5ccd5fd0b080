import Foundation
import HabitStore
import HabitStoreRollout
import RolloutTesting
import Synchronization
import Testing

@testable import HabitStoreFleet

/// Hooks get the ledger's lines in order. None of them delays a move, unless it confirms waves.
@Suite(.timeLimit(.minutes(5)))
struct HookTests {
    @Test func everyLineOfTheLedgerIsToldInItsOrder() throws {
        let test = try TestFleet(3)
        let hook = try test.hook()
        try test.drawHooked(hook)
        #expect(try test.runHooked() == .done(passedOver: 0))
        let entries = try test.fleet.ledger.read().entries
        let messages = hook.messages
        #expect(hook.sequences == Array(1...entries.count))
        #expect(messages.map(\.event) == entries.map(\.event.kind))
        #expect(messages.map { $0.json["event"] as? String } == messages.map(\.event))
        #expect(messages.map { $0.json["delivery"] as? String } == messages.map(\.delivery))
        #expect(Set(messages.map(\.delivery)).count == entries.count)
        let began = try #require(messages.first { $0.event == "waveBegan" })
        #expect((began.json["wave"] as? [String: Any])?["name"] as? String == "canary")
        let status = try #require(try test.fleet.status().hooks.first)
        #expect(status.owed == 0 && status.told == entries.count && status.failure == nil)
    }

    @Test func aHookIsToldOnlyTheEventsThatItAskedFor() throws {
        let test = try TestFleet(2)
        let hook = try test.hook()
        try test.drawHooked(hook, #", "events": ["waveDone", "ended"]"#)
        #expect(try test.runHooked() == .done(passedOver: 0))
        #expect(hook.messages.map(\.event) == ["waveDone", "waveDone", "ended"])
        #expect(try test.fleet.hooks().first?.owed == 0)
    }

    @Test func aHookThatFailsHoldsUpNobodyAndIsToldLater() throws {
        let test = try TestFleet(3)
        let hook = try test.hook(answer: "echo 'the pager is off' >&2; exit 7")
        try test.drawHooked(hook)
        var told: [String] = []
        #expect(try test.runHooked { told.append($0) } == .done(passedOver: 0))
        #expect(told.contains { $0.contains("the hook pager ended with exit code 7: the pager is off") }, "\(told)")
        let count = try test.fleet.ledger.read().entries.count
        let status = try #require(try test.fleet.status().hooks.first)
        #expect(status.owed == count && status.told == nil && status.failingSince != nil)
        let failed = try test.fleet.tellHooks()
        #expect(failed.count == 1 && failed[0].told == 0 && failed[0].failure?.contains("exit code 7") == true)
        let tried = hook.messages.count
        try hook.answer("exit 0")
        #expect(try test.fleet.tellHooks() == [.init(name: "pager", told: count, failure: nil)])
        #expect(hook.sequences.dropFirst(tried) == Array(1...count)[...])
        #expect(try test.fleet.hooks().first?.failure == nil)
        // Nothing is delivered again without need.
        #expect(try test.fleet.tellHooks() == [.init(name: "pager", told: 0, failure: nil)])
    }

    /// In order: a failed delivery is retried, and nothing after it is delivered before.
    @Test func whatFailsIsToldAgainBeforeWhatComesAfterIt() throws {
        let test = try TestFleet(2)
        let hook = try test.hook(answer: #"case "$body" in *'"sequence":2,'*) exit 1 ;; esac"#)
        try test.drawHooked(hook)
        #expect(try test.runHooked() == .done(passedOver: 0))
        #expect(Set(hook.sequences) == [1, 2])
        let second = hook.messages.filter { $0.json["sequence"] as? Int == 2 }
        #expect(Set(second.map(\.delivery)).count == 1)
        #expect(try test.fleet.hooks().first?.failure == "ended with exit code 1")
    }

    @Test func aWaveWaitsUntilItsHookEndsWithZero() throws {
        let test = try TestFleet(3)
        let hook = try test.hook(answer: #"[ "$HABITSTORE_EVENT" != confirm ] || { echo 'not yet' >&2; exit 3; }"#)
        try test.drawHooked(hook, #", "confirmsWaves": true"#)
        var waited: [String: Stage?] = [:]
        let told = Mutex<[String]>([])
        let end = try test.runHooked { line in
            told.withLock { $0.append(line) }
            guard line.contains("to confirm wave 1; it ended") else { return }
            waited = (try? test.stages()) ?? [:]
            try? hook.answer("exit 0")
        }
        #expect(end == .done(passedOver: 0))
        #expect(!waited.isEmpty && waited.values.allSatisfy { $0 == .off })
        let waiting = "waiting for the hook pager to confirm wave 1; it ended with exit code 3: not yet"
        #expect(told.withLock { $0.contains { $0.contains(waiting) } })
        let questions = hook.messages.filter { $0.event == "confirm" }
        let first = try #require(questions.first)
        #expect(first.json["users"] as? Int == 2)
        #expect((first.json["wave"] as? [String: Any])?["number"] as? Int == 1)
        #expect(Set(questions.map(\.delivery)).count == 2)
        let confirmed = try test.fleet.ledger.read().entries.map(\.event).filter { $0.kind == "waveConfirmed" }
        #expect(confirmed == [.waveConfirmed(wave: 0, hook: "pager"), .waveConfirmed(wave: 1, hook: "pager")])
    }

    /// A hook that takes a minute to answer must not delay an operator's halt.
    @Test func aHaltIsSeenAtOnceWhileAHookLetsAWaveWait() throws {
        let test = try TestFleet(3)
        let hook = try test.hook(answer: #"[ "$HABITSTORE_EVENT" != confirm ] || sleep 60"#)
        try test.drawHooked(hook, #", "confirmsWaves": true, "timeoutSeconds": 60"#)
        let halted = Mutex<ContinuousClock.Instant?>(nil)
        Thread.detachNewThread {
            while !hook.messages.contains(where: { $0.event == "confirm" }) { usleep(10_000) }
            halted.withLock { $0 = .now }
            _ = try? test.fleet.halt(by: "a person", because: "lunch")
        }
        let said = Mutex<ContinuousClock.Instant?>(nil)
        let end = try test.runHooked { line in if line == "lunch" { said.withLock { $0 = .now } } }
        #expect(end == .halted(by: "a person", because: "lunch", user: nil))
        let (begun, seen) = (try #require(halted.withLock { $0 }), try #require(said.withLock { $0 }))
        #expect(seen - begun < .seconds(30))
        #expect(try test.stages().values.allSatisfy { $0 == .off })
    }

    /// A hook in progress when the run gave up waiting stayed without a limit: processes without a parent collected on the machine, run by run.
    @Test func aHookThatHangsAtTheEndOfARunIsStoppedAfterItsTime() throws {
        let test = try TestFleet(1)
        let pids = test.user.folder.path("pids")
        let hook = try test.hook(answer: "echo $$ >>'\(pids)'; exec sleep 600")
        try test.drawHooked(hook, #", "timeoutSeconds": 9"#)
        let told = Mutex<[String]>([])
        #expect(try test.runHooked { line in told.withLock { $0.append(line) } } == .done(passedOver: 0))
        let started = try String(contentsOfFile: pids, encoding: .utf8).split(separator: "\n").compactMap { Int32($0) }
        #expect(!started.isEmpty && hook.messages.count == started.count)
        for id in started { #expect(try !isRunning(id)) }
        #expect(try test.fleet.hooks().first?.failure == "did not finish within 9.0 seconds")
        #expect(told.withLock { $0.contains { $0.contains("the hook pager did not finish") } })
    }

    /// It needs longer than a run waits for further deliveries. Stopping it would lose the page at the end of each run.
    @Test func aSlowHookInProgressAtTheEndOfARunFinishes() throws {
        let test = try TestFleet(1)
        let hook = try test.hook(answer: #"[ "$HABITSTORE_EVENT" != ended ] || sleep 7"#)
        try test.drawHooked(hook, #", "timeoutSeconds": 60"#)
        #expect(try test.runHooked() == .done(passedOver: 0))
        let status = try #require(try test.fleet.hooks().first)
        #expect(status.owed == 0 && status.failure == nil && hook.messages.last?.event == "ended")
    }

    /// Nobody needs its answer any more, and the page about the halt waited for it.
    @Test func aHookThatIsAskedAboutAWaveIsStoppedWhenTheRunEnds() throws {
        let test = try TestFleet(3)
        let pid = test.user.folder.path("pid")
        let hook = try test.hook(
            answer: #"[ "$HABITSTORE_EVENT" != confirm ] || { echo $$ >'\#(pid)'; exec sleep 600; }"#
        )
        try test.drawHooked(hook, #", "confirmsWaves": true, "timeoutSeconds": 120"#)
        let begun = ContinuousClock.now
        var id: Int32?
        let end = try test.runHooked { line in
            guard line.contains("waiting for the hook pager to confirm wave 1"), id == nil else { return }
            while id == nil, ContinuousClock.now - begun < .seconds(30) {
                let word = (try? String(contentsOfFile: pid, encoding: .utf8))?.split(separator: "\n").first
                id = word.flatMap { Int32($0) }
                usleep(10_000)
            }
            _ = try? test.fleet.halt(by: "a person", because: "lunch")
        }
        #expect(end == .halted(by: "a person", because: "lunch", user: nil))
        #expect(ContinuousClock.now - begun < .seconds(90))
        #expect(try !isRunning(#require(id)))
        #expect(hook.messages.last?.event == "halted")
        #expect(try test.fleet.hooks().first?.owed == 0)
    }

    /// The progress of hooks could not be written on a full disk, and delivery stopped after the first line: the page about the halt behind it waited.
    @Test func whatCannotBeRecordedIsDeliveredAnyway() throws {
        let test = try TestFleet(1)
        let hook = try test.hook()
        try test.drawHooked(hook)
        try test.fleet.pause(by: "a test", because: "lunch")
        try test.fleet.halt(by: "a test", because: "the disk is full")
        let draft = test.fleet.folder.hooks + ".new"
        try FileManager.default.createDirectory(atPath: draft + "/x", withIntermediateDirectories: true)
        let tried = try #require(try test.fleet.tellHooks().first)
        #expect(tried.told == 3 && tried.failure?.contains("got 3 of 3 lines, but that cannot be recorded") == true)
        #expect(hook.messages.map(\.event) == ["drawn", "paused", "halted"])
        try FileManager.default.removeItem(atPath: draft)
        #expect(try test.fleet.tellHooks() == [.init(name: "pager", told: 3, failure: nil)])
        #expect(hook.messages.prefix(3).map(\.delivery) == hook.messages.dropFirst(3).map(\.delivery))
        #expect(try test.fleet.hooks().first?.owed == 0)
    }

    /// A rebuilt index knows nothing of hooks, and need not.
    @Test func afterTheIndexWasMadeAnewNothingIsToldTwice() throws {
        let test = try TestFleet(2)
        let hook = try test.hook()
        try test.drawHooked(hook)
        #expect(try test.runHooked() == .done(passedOver: 0))
        let count = hook.messages.count
        _ = try test.fleet.rebuild(test.stores()) { _, _ in }
        #expect(try test.runHooked() == .done(passedOver: 0))
        let again = hook.messages.dropFirst(count)
        #expect(again.map(\.event) == ["began", "ended"])
        // If the file is lost, everything is delivered again, with the same identifiers.
        let names = hook.messages.map(\.delivery)
        #expect(unlink(FleetFolder(root: test.root).hooks) == 0)
        #expect(try test.fleet.tellHooks().first?.told == names.count)
        #expect(hook.messages.dropFirst(names.count).map(\.delivery) == names)
    }

    /// After a user for whom a fleet had been halted was erased, the ledger's lines had other hashes, and every hook received all of them again as
    /// new messages.
    @Test func whenAUserWasErasedHooksAreToldOnlyThat() throws {
        let test = try TestFleet(3)
        let hook = try test.hook()
        try test.drawHooked(hook)
        try test.fleet.halt(by: "a test", because: "user-1 complains")
        _ = try test.fleet.tellHooks()
        let told = hook.messages
        let entries = try test.fleet.ledger.read().entries
        #expect(try test.fleet.forget("user-1"))
        #expect(try test.fleet.tellHooks().map(\.told) == [1])
        #expect(hook.messages.last?.event == "forgotten")
        #expect(hook.sequences == Array(1...entries.count + 1))
        // If the position is lost, everything is delivered again with the same identifiers.
        try FileManager.default.removeItem(atPath: test.fleet.folder.hooks)
        _ = try test.fleet.tellHooks()
        let again = hook.messages.dropFirst(told.count + 1).prefix(told.count)
        #expect(again.map(\.delivery) == told.map(\.delivery))
    }

    @Test func aHookThatIsNewIsToldWhatIsDoneFromItsPlanOn() throws {
        let test = try TestFleet(2)
        let hook = try test.hook()
        _ = try test.draw(TestFleet.twoWaves)
        #expect(try test.run().end == .done(passedOver: 0))
        let before = try test.fleet.ledger.read().entries.count
        try test.drawHooked(hook)
        #expect(try test.fleet.tellHooks().first?.told == 1)
        #expect(hook.sequences == [before + 1] && hook.messages[0].event == "drawn")
    }

    @Test func haltsNameNobodyUnlessTheHookAsksForIt() throws {
        let event = FleetEvent.halted(
            by: "the run",
            because: "a user's stores differ: alice has lost a record",
            user: "alice"
        )
        func text(_ names: Bool) throws -> String {
            var body = HookBody(event: "halted", delivery: "1", root: "habits", time: Date(timeIntervalSince1970: 0))
            try body.take(event, ["a"], namesUsers: names)
            return String(decoding: try body.data(), as: UTF8.self)
        }
        #expect(try text(false).contains("a user's stores differ") && !text(false).contains("alice"))
        #expect(try text(true).contains("\"user\":\"alice\"") && text(true).contains("has lost a record"))
    }

    /// A user who can write the program decides what an operator runs.
    @Test(arguments: [
        (0o775, "others may change the hook program"), (0o757, "others may change the hook program"),
        (0o600, "cannot be executed"),
    ])
    func aProgramThatOthersMayChangeOrThatCannotBeExecutedIsRefused(_ mode: mode_t, _ words: String) throws {
        let test = try TestFleet(1)
        let hook = try test.hook()
        chmod(hook.path, mode)
        #expect { try test.drawHooked(hook) } throws: { "\($0)".contains(words) }
        chmod(hook.path, 0o755)
        try test.drawHooked(hook)
        chmod(hook.path, mode)
        #expect(try test.fleet.testHooks().first?.failure?.contains(words) == true)
        unlink(hook.path)
        #expect(try test.fleet.testHooks().first?.failure?.contains("there is no hook program") == true)
        #expect(hook.messages.isEmpty)
    }

    /// Hooks used to be URLs. A plan drawn at that time can still be read: a wave that waits for such a hook keeps waiting, and nothing else does.
    @Test func aHookOfAnEarlierVersionIsOwedEverythingUntilThePlanIsDrawnAgain() throws {
        let test = try TestFleet(2)
        let hook = try test.hook()
        try test.drawHooked(hook)
        let path = test.fleet.folder.path + "/plan.json"
        let old = #""url": "https://a.example:8443/hidden", "secretFile": "/s", "allowsPlainHTTP": true"#
        let text = try String(contentsOfFile: path, encoding: .utf8)
        try Data(text.replacing(#""program": "\#(hook.path)""#, with: old).utf8).write(to: URL(fileURLWithPath: path))
        var told: [String] = []
        #expect(try test.runHooked { told.append($0) } == .done(passedOver: 0))
        #expect(told.contains { $0.contains("hooks were URLs; give the hook pager a program") }, "\(told)")
        let status = try #require(try test.fleet.status().hooks.first)
        #expect(status.owed == (try test.fleet.ledger.read().entries.count))
        #expect(!"\(told)\(status)".contains("hidden"))
        try test.drawHooked(hook)
        #expect(try test.fleet.tellHooks().first?.failure == nil)
        #expect(hook.sequences == Array(1...(try test.fleet.ledger.read().entries.count)))
    }

    @Test func aDamagedFileOfHooksMovesNobodyAndSaysSo() throws {
        let test = try TestFleet(2)
        let hook = try test.hook()
        try test.drawHooked(hook)
        try Data("{\"hooks\": 3".utf8).write(to: URL(fileURLWithPath: FleetFolder(root: test.root).hooks))
        #expect { try test.runHooked() } throws: { "\($0)".contains("remove it, and they get every line") }
        #expect(try test.stages().values.allSatisfy { $0 == .off })
        #expect(try test.fleet.status().hooksProblem?.contains("is damaged") == true)
    }

    @Test(arguments: [
        ("sleep 60", "did not finish within 0.5 seconds"),
        ("trap '' TERM; sleep 60 & wait; sleep 60", "did not finish within"),
        ("kill -9 $$", "was ended by signal 9"),
        ("printf 'a\\033[2Jb\\n' >&2; exit 4", "ended with exit code 4: a[2Jb"),
    ])
    func eachFailureIsOneClearLine(_ answer: String, _ words: String) throws {
        let test = try TestFleet(1)
        let hook = try test.hook(answer: answer)
        try test.drawHooked(hook, answer.contains("sleep") ? #", "timeoutSeconds": 0.5"# : "")
        let tried = try #require(try test.fleet.testHooks().first)
        #expect(tried.failure?.contains(words) == true, "\(tried)")
        #expect(test.fleet.tellHooksInWords().count == 1)
    }

    /// A program need not read its input, and may print more than is read.
    @Test func aProgramThatReadsNothingAndSaysMuchSucceeds() throws {
        let test = try TestFleet(1)
        let path = test.user.folder.path("silent")
        try Data("#!/bin/sh\nhead -c 1000000 /dev/zero; head -c 1000000 /dev/zero >&2\n".utf8)
            .write(to: URL(fileURLWithPath: path))
        chmod(path, 0o700)
        let message = HookMessage(event: "test", delivery: "1", body: Data(repeating: 0x20, count: 1_000_000))
        try HookProgram.deliver(message, to: FleetPlan.Hook(name: "silent", program: path))
    }

    /// Its child ignores the signal on which the program ends.
    @Test func aProgramThatIsStoppedLeavesNoProcessBehind() throws {
        let test = try TestFleet(1)
        let (path, child) = (test.user.folder.path("hook"), test.user.folder.path("child"))
        try Data(
            "#!/bin/sh\n(trap '' TERM; echo ready; exec sleep 600) >'\(child).out' & echo $! >'\(child)'; wait\n".utf8
        )
        .write(to: URL(fileURLWithPath: path))
        chmod(path, 0o700)
        var hook = FleetPlan.Hook(name: "parent", program: path)
        hook.timeoutSeconds = 5
        #expect(throws: HookFailure.self) {
            try HookProgram.deliver(HookMessage(event: "test", delivery: "1", body: Data()), to: hook)
        }
        let words = try String(contentsOfFile: child, encoding: .utf8).split(whereSeparator: \.isNewline)
        let id = try #require(words.first.flatMap { Int32($0) })
        #expect(FileManager.default.fileExists(atPath: child + ".out"))
        // A signal arrives when the process runs next.
        for _ in 0..<600 where try isRunning(id) { usleep(100_000) }
        #expect(try !isRunning(id))
    }

    @Test func waitsGrowAndAreDrawnAnew() {
        let retry = HookRetry()
        for tries in 1...40 {
            let full = min(300, Double(1 << min(tries - 1, 30)))
            #expect((full / 2...full).contains(retry.wait(after: tries)))
        }
        #expect(Set((0..<20).map { _ in retry.wait(after: 5) }).count > 1)
    }
}
