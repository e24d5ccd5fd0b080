import Foundation
import HabitStore
import HabitStoreHooks
import HabitStoreRollout
import HabitStoreTesting
import RolloutTesting
import Synchronization
import Testing

@testable import HabitStoreFleet

/// Hooks are told what the ledger says, in its order and signed; none of them holds up a move, unless it confirms waves.
@Suite(.timeLimit(.minutes(5)))
struct HookTests {
    private func sequences(_ messages: [LoopbackServer.Message]) -> [Int] {
        messages.compactMap { $0.json["sequence"] as? Int }
    }

    @Test func everyLineOfTheLedgerIsToldInItsOrderAndSigned() throws {
        let (test, server) = (try TestFleet(3), try LoopbackServer())
        try test.drawHooked(server.port)
        #expect(try test.runHooked() == .done(passedOver: 0))
        let entries = try test.fleet.ledger.read().entries
        let messages = server.messages
        #expect(sequences(messages) == Array(1...entries.count))
        #expect(messages.map(\.event) == entries.map(\.event.kind))
        #expect(messages.map { $0.header("X-HabitStore-Event") } == messages.map(\.event))
        #expect(messages.allSatisfy { $0.isSigned(by: TestFleet.secret) && !$0.isSigned(by: "another") })
        #expect(Set(messages.compactMap { $0.header("X-HabitStore-Delivery") }).count == entries.count)
        let began = try #require(messages.first { $0.event == "waveBegan" })
        #expect((began.json["wave"] as? [String: Any])?["name"] as? String == "canary")
        let status = try #require(try test.fleet.status().hooks.first)
        #expect(status.owed == 0 && status.told == entries.count && status.failure == nil)
    }

    @Test func aHookIsToldOnlyTheEventsThatItAskedFor() throws {
        let (test, server) = (try TestFleet(2), try LoopbackServer())
        try test.drawHooked(server.port, #", "events": ["waveDone", "ended"]"#)
        #expect(try test.runHooked() == .done(passedOver: 0))
        #expect(server.messages.map(\.event) == ["waveDone", "waveDone", "ended"])
        #expect(try test.fleet.hooks().first?.owed == 0)
    }

    @Test func aHookThatCannotBeReachedHoldsUpNobodyAndIsToldLater() throws {
        let (test, port) = (try TestFleet(3), try LoopbackServer.closedPort())
        try test.drawHooked(port)
        var told: [String] = []
        #expect(try test.runHooked { told.append($0) } == .done(passedOver: 0))
        let line = try #require(told.first { $0.contains("the hook pager cannot be reached") }, "\(told)")
        #expect(!line.contains("token") && !line.contains("\n"))
        let count = try test.fleet.ledger.read().entries.count
        let status = try #require(try test.fleet.status().hooks.first)
        #expect(status.owed == count && status.told == nil && status.failingSince != nil)
        let failed = try test.hooked.tellHooks()
        #expect(failed.count == 1 && failed[0].told == 0 && failed[0].failure?.contains("cannot be reached") == true)
        let server = try LoopbackServer(port: port)
        #expect(try test.hooked.tellHooks() == [.init(name: "pager", told: count, failure: nil)])
        #expect(sequences(server.messages) == Array(1...count))
        #expect(try test.fleet.hooks().first?.failure == nil)
        // Nothing is told twice without need.
        #expect(try test.hooked.tellHooks() == [.init(name: "pager", told: 0, failure: nil)])
    }

    /// In order: what fails is tried again, and nothing after it is told before.
    @Test func whatFailsIsToldAgainBeforeWhatComesAfterIt() throws {
        let test = try TestFleet(2)
        let server = try LoopbackServer { message in
            message.json["sequence"] as? Int == 2 && message.header("X-HabitStore-Delivery") != nil ? 500 : 200
        }
        try test.drawHooked(server.port)
        #expect(try test.runHooked() == .done(passedOver: 0))
        #expect(Set(sequences(server.messages)) == [1, 2])
        let second = server.messages.filter { $0.json["sequence"] as? Int == 2 }
        #expect(Set(second.compactMap { $0.header("X-HabitStore-Delivery") }).count == 1)
        #expect(try test.fleet.hooks().first?.failure == "answered 500")
    }

    @Test(arguments: [503, 204, 302]) func aWaveWaitsUntilItsHookHasAnswered200(_ status: Int) throws {
        let test = try TestFleet(3)
        let isReady = Mutex(false)
        let server = try LoopbackServer { message in
            guard message.event == "confirm" else { return 200 }
            return isReady.withLock { $0 } ? 200 : status
        }
        try test.drawHooked(server.port, #", "confirmsWaves": true"#)
        var waited: [String: Stage?] = [:]
        let told = Mutex<[String]>([])
        let end = try test.runHooked { line in
            told.withLock { $0.append(line) }
            guard line.contains("to confirm wave 1; it answered") else { return }
            waited = (try? test.stages()) ?? [:]
            isReady.withLock { $0 = true }
        }
        #expect(end == .done(passedOver: 0))
        #expect(!waited.isEmpty && waited.values.allSatisfy { $0 == .off })
        #expect(
            told.withLock {
                $0.contains { $0.contains("waiting for the hook pager to confirm wave 1; it answered \(status)") }
            }
        )
        #expect(!server.messages.contains { $0.path == "/elsewhere" })
        let questions = server.messages.filter { $0.event == "confirm" }
        let first = try #require(questions.first)
        #expect(first.isSigned(by: TestFleet.secret) && first.json["users"] as? Int == 2)
        #expect((first.json["wave"] as? [String: Any])?["number"] as? Int == 1)
        #expect(Set(questions.compactMap { $0.header("X-HabitStore-Delivery") }).count == 2)
        let confirmed = try test.fleet.ledger.read().entries.map(\.event).filter { $0.kind == "waveConfirmed" }
        #expect(confirmed == [.waveConfirmed(wave: 0, hook: "pager"), .waveConfirmed(wave: 1, hook: "pager")])
    }

    /// A hook that keeps a question for a minute must not keep a person who halts.
    @Test func aHaltIsSeenAtOnceWhileAHookLetsAWaveWait() throws {
        let (test, server) = (try TestFleet(3), try LoopbackServer { $0.event == "confirm" ? nil : 200 })
        try test.drawHooked(server.port, #", "confirmsWaves": true, "timeoutSeconds": 60"#)
        let halted = Mutex<ContinuousClock.Instant?>(nil)
        Thread.detachNewThread {
            while !server.messages.contains(where: { $0.event == "confirm" }) { usleep(10_000) }
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

    /// A rebuilt index knows nothing of hooks, and needs not.
    @Test func afterTheIndexWasMadeAnewNothingIsToldTwice() throws {
        let (test, server) = (try TestFleet(2), try LoopbackServer())
        try test.drawHooked(server.port)
        #expect(try test.runHooked() == .done(passedOver: 0))
        let count = server.messages.count
        _ = try test.fleet.rebuild(test.stores()) { _, _ in }
        #expect(try test.runHooked() == .done(passedOver: 0))
        let again = server.messages.dropFirst(count)
        #expect(again.map(\.event) == ["began", "ended"])
        // Whoever loses the file is told everything again, by the same names.
        let names = server.messages.compactMap { $0.header("X-HabitStore-Delivery") }
        #expect(unlink(FleetFolder(root: test.root).hooks) == 0)
        #expect(try test.hooked.tellHooks().first?.told == names.count)
        #expect(server.messages.dropFirst(names.count).compactMap { $0.header("X-HabitStore-Delivery") } == names)
    }

    /// A user was erased for whom a fleet had been halted. The ledger's lines have other hashes then, and every hook was told all of them
    /// again, as messages that it had never seen.
    @Test func whenAUserWasErasedHooksAreToldOnlyThat() throws {
        let (test, server) = (try TestFleet(3), try LoopbackServer())
        try test.drawHooked(server.port)
        try test.hooked.halt(by: "a test", because: "user-1 complains")
        _ = try test.hooked.tellHooks()
        let told = server.messages
        let entries = try test.fleet.ledger.read().entries
        #expect(try test.fleet.forget("user-1"))
        #expect(try test.hooked.tellHooks().map(\.told) == [1])
        #expect(server.messages.last?.event == "forgotten")
        #expect(sequences(server.messages) == Array(1...entries.count + 1))
        // Whoever loses the place tells everything again, by the identifiers that it had.
        try FileManager.default.removeItem(atPath: test.fleet.folder.hooks)
        _ = try test.hooked.tellHooks()
        let again = server.messages.dropFirst(told.count + 1).prefix(told.count)
        #expect(again.map { $0.header("X-HabitStore-Delivery") } == told.map { $0.header("X-HabitStore-Delivery") })
    }

    @Test func aHookThatIsNewIsToldWhatIsDoneFromItsPlanOn() throws {
        let (test, server) = (try TestFleet(2), try LoopbackServer())
        _ = try test.draw(TestFleet.twoWaves)
        #expect(try test.run().end == .done(passedOver: 0))
        let before = try test.fleet.ledger.read().entries.count
        try test.drawHooked(server.port)
        #expect(try test.hooked.tellHooks().first?.told == 1)
        #expect(sequences(server.messages) == [before + 1] && server.messages[0].event == "drawn")
    }

    @Test func haltsNameNobodyUnlessTheHookAsksForIt() throws {
        let event = FleetEvent.halted(
            by: "the run",
            because: "a user's stores differ: alice has lost a record",
            user: "alice"
        )
        func text(_ names: Bool) throws -> String {
            var body = HookBody(event: "halted", root: "habits", time: Date(timeIntervalSince1970: 0))
            body.take(event, ["a"], namesUsers: names)
            return String(decoding: try body.data(), as: UTF8.self)
        }
        #expect(try text(false).contains("a user's stores differ") && !text(false).contains("alice"))
        #expect(try text(true).contains("\"user\":\"alice\"") && text(true).contains("has lost a record"))
    }

    @Test func aSecretThatOthersMayReadIsRefused() throws {
        let test = try TestFleet(1)
        let path = try test.secretFile()
        chmod(path, 0o640)
        #expect { try HookSecret(path: path) } throws: { "\($0)".contains("not for its owner alone") }
        chmod(path, 0o600)
        try Data("short".utf8).write(to: URL(fileURLWithPath: path))
        #expect { try HookSecret(path: path) } throws: {
            "\($0)".contains("16 to 4096 bytes") && !"\($0)".contains("short")
        }
        #expect { try HookSecret(path: path + "-missing") } throws: { "\($0)".contains("cannot be opened") }
    }

    @Test func aPlanWithHooksIsNotRunByWhoCannotSendTheirRequests() throws {
        let (test, server) = (try TestFleet(2), try LoopbackServer())
        try test.drawHooked(server.port)
        #expect { try test.run() } throws: { "\($0)".contains("has nothing that sends their requests") }
        #expect(try test.stages().values.allSatisfy { $0 == .off })
    }

    @Test func aDamagedFileOfHooksMovesNobodyAndSaysSo() throws {
        let (test, server) = (try TestFleet(2), try LoopbackServer())
        try test.drawHooked(server.port)
        try Data("{\"hooks\": 3".utf8).write(to: URL(fileURLWithPath: FleetFolder(root: test.root).hooks))
        #expect { try test.runHooked() } throws: { "\($0)".contains("remove it, and they are told every line") }
        #expect(try test.stages().values.allSatisfy { $0 == .off })
        #expect(try test.fleet.status().hooksProblem?.contains("is damaged") == true)
    }

    @Test(arguments: [
        (nil as Int?, "gave no answer within"), (404, "answered 404"), (307, "redirections are not followed"),
    ])
    func eachFailureIsOneClearLine(_ status: Int?, _ words: String) throws {
        let (test, server) = (try TestFleet(1), try LoopbackServer { _ in status })
        try test.drawHooked(server.port, status == nil ? #", "timeoutSeconds": 0.5"# : "")
        let tried = try #require(try test.hooked.testHooks().first)
        #expect(tried.failure?.contains(words) == true, "\(tried)")
        #expect(test.hooked.tellHooksInWords().count == 1)
    }

    @Test func waitsGrowAndAreDrawnAnew() {
        let retry = HookRetry()
        for tries in 1...40 {
            let full = min(300, Double(1 << min(tries - 1, 30)))
            #expect((full / 2...full).contains(retry.wait(after: tries, thatTook: 0)))
        }
        #expect(retry.wait(after: 1, thatTook: 10) >= 100)
        #expect(Set((0..<20).map { _ in retry.wait(after: 5, thatTook: 0) }).count > 1)
    }
}

/// What goes over the wire without TLS.
@Suite(.timeLimit(.minutes(1)))
struct PlainHookTests {
    private func request(_ url: String, timeoutSeconds: Double = 120) throws -> HookRequest {
        HookRequest(
            url: try #require(URL(string: url)),
            headers: ["X-HabitStore-Event": "test"],
            body: Data("{\"a\":1}".utf8),
            timeoutSeconds: timeoutSeconds
        )
    }

    @Test func aPostIsOneThatServersUnderstand() throws {
        let server = try LoopbackServer { _ in 204 }
        #expect(try URLSessionTransport().post(request("http://localhost:\(server.port)/a%20b?c=%2F")) == 204)
        let message = try #require(server.messages.first)
        #expect(message.path == "/a%20b?c=%2F" && message.body == Data("{\"a\":1}".utf8))
        #expect(message.header("Host") == "localhost:\(server.port)" && message.header("X-HabitStore-Event") == "test")
    }

    /// A hook that hangs must cost nothing but the wait.
    @Test func waitingForAnAnswerEndsInTime() throws {
        let server = try LoopbackServer { _ in nil }
        let begun = ContinuousClock.now
        #expect {
            try URLSessionTransport().post(request("http://127.0.0.1:\(server.port)/", timeoutSeconds: 0.3))
        } throws: {
            "\($0)" == "gave no answer within 0.3 seconds"
        }
        #expect(ContinuousClock.now - begun < .seconds(60))
    }

    @Test(arguments: ["http", "https"]) func whoCannotBeReachedIsOneLine(_ scheme: String) throws {
        let port = try LoopbackServer.closedPort()
        #expect { try URLSessionTransport().post(request("\(scheme)://127.0.0.1:\(port)/hidden")) } throws: {
            "\($0)".hasPrefix("cannot be reached: ") && !"\($0)".contains("hidden") && !"\($0)".contains("\n")
        }
    }

    /// A server that speaks no TLS is told nothing by who asks for it.
    @Test func aServerWithoutTLSIsToldNothing() throws {
        let server = try LoopbackServer()
        let request = try request("https://127.0.0.1:\(server.port)/hidden", timeoutSeconds: 0.5)
        #expect { try URLSessionTransport().post(request) } throws: {
            $0 is HookFailure && !"\($0)".contains("\n") && !"\($0)".contains("hidden")
        }
        #expect(server.messages.isEmpty)
    }
}
