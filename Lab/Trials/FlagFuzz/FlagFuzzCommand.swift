import ArgumentParser
import Foundation

/// Feeds damaged flag files and rules to `FeatureFlags` for a while, and fails on the first input that takes too much work. If an input crashes the
/// process, it is in the file of the current input. Work is counted instead of timed, so that the load on the machine does not matter.
struct FlagFuzzCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fuzz-flags",
        abstract: "Feed damaged flag files and rules to the module that reads them."
    )

    @Option(help: "How long to run.")
    var seconds = 10

    @Option(help: "The seed of the mutations; the same seed makes the same inputs.")
    var seed: UInt64?

    @Option(help: "The file of the current input, which remains if the process crashes.")
    var currentInput = NSTemporaryDirectory() + "flag-fuzz-input"

    @Option(
        help: "The maximum work for one input, in steps: bytes, values, operators and evaluation steps."
    )
    var limitSteps = 3_000_000

    mutating func run() throws {
        let seed = seed ?? UInt64.random(in: 0...UInt64.max)
        print("seed \(seed); the current input is in \(currentInput)")
        let record = try FlagInputRecord(path: currentInput)
        var fuzzer = FlagFuzzer(seed: seed, record: record)
        let monitor = HangMonitor(processorSeconds: 10, seconds: 600)
        let deadline = ContinuousClock.now + .seconds(seconds)
        while ContinuousClock.now < deadline {
            for _ in 0..<100 {
                monitor.begin(orPrint: "an input hangs; it is in the file of the current input")
                fuzzer.step()
                monitor.end()
            }
            if fuzzer.hardest.steps > limitSteps { break }
        }
        let peak = FlagFuzzer.peakMemoryMegabytes
        print(
            """
            \(fuzzer.inputs) inputs: \(fuzzer.loaded) accepted, \(fuzzer.refused) refused; \
            \(fuzzer.evaluations) evaluations, \(fuzzer.corpusCount) kinds of behavior
            the hardest input took \(fuzzer.hardest.steps) steps, the slowest \(Int(fuzzer.longestMilliseconds)) ms; \
            peak memory \(peak) MB
            """
        )
        if fuzzer.hardest.steps > limitSteps {
            try Data(fuzzer.hardest.input).write(to: URL(fileURLWithPath: currentInput + "-hard"))
            print("too much work; the input is in \(currentInput)-hard")
            throw ExitCode.failure
        }
        if peak > Self.memoryMegabytes {
            print("too much memory")
            throw ExitCode.failure
        }
    }

    private static let memoryMegabytes = 1024
}
