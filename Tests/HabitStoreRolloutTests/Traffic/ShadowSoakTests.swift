import Foundation
import Testing

@testable import HabitStoreRollout

/// The soak of shadow reads, as a process: `make test` and `make soak-shadow` run it for longer.
@Suite(.timeLimit(.minutes(5)))
struct ShadowSoakTests {
    private func run(_ arguments: String...) throws -> (status: Int32, output: String) {
        let process = Process()
        process.executableURL = try TrafficProcess.trials()
        process.arguments = ["soak"] + arguments
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        return (process.terminationStatus, text)
    }

    @Test func noReadDiffersWhileEightWritersAreAtWork() throws {
        let seed = UInt64.random(in: 0...9_999)
        let found = try run("--reads", "500", "--seed", "\(seed)")
        print(found.output)
        #expect(found.status == 0, "\(found.output)")
        #expect(found.output.contains("seed \(seed)"))
        #expect(found.output.contains("no false alarm"))
    }

    /// That most reads could not be compared would prove nothing.
    @Test func tooFewComparisonsAreAFailure() throws {
        let found = try run("--reads", "1000000", "--limit-seconds", "0.2")
        #expect(found.status == 1, "\(found.output)")
        #expect(found.output.contains("FAILED"))
    }
}
