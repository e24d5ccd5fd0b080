import ArgumentParser
import Foundation

/// Feeds damaged flag files and rules to `FeatureFlags` for a while, and fails on the first input that takes too long;
/// one that crashes it ends the process, and is found in the file of the current input.
@main
struct FuzzCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "habitstore-flag-fuzz",
        abstract: "Feed damaged flag files and rules to the module that reads them."
    )

    @Option(help: "How long to run.")
    var seconds = 10

    @Option(help: "The seed of the mutations; the same seed makes the same inputs.")
    var seed: UInt64?

    @Option(help: "Where the input that is being read is kept, for when it crashes the process.")
    var currentInput = NSTemporaryDirectory() + "flag-fuzz-input"

    @Option(help: "The longest that an input may take, in milliseconds of processor time.")
    var limitMilliseconds = 100

    mutating func run() throws {
        let seed = seed ?? UInt64.random(in: 0...UInt64.max)
        print("seed \(seed); the current input is kept in \(currentInput)")
        let record = try InputRecord(path: currentInput)
        var fuzzer = FlagFuzzer(seed: seed, record: record)
        let monitor = HangMonitor(seconds: 10)
        let deadline = ContinuousClock.now + .seconds(seconds)
        while ContinuousClock.now < deadline {
            for _ in 0..<100 {
                monitor.begin()
                fuzzer.step()
                monitor.end()
            }
            if fuzzer.slowest.milliseconds > Double(limitMilliseconds) { break }
        }
        let peak = FlagFuzzer.peakMemoryMegabytes
        print(
            """
            \(fuzzer.inputs) inputs: \(fuzzer.loaded) were read, \(fuzzer.refused) were refused; \
            \(fuzzer.evaluations) evaluations, \(fuzzer.corpusCount) kinds of behavior
            the slowest input took \(fuzzer.slowest.milliseconds) ms; memory was at most \(peak) MB
            """
        )
        if fuzzer.slowest.milliseconds > Double(limitMilliseconds) {
            try Data(fuzzer.slowest.input).write(to: URL(fileURLWithPath: currentInput + "-slow"))
            print("too slow; the input is in \(currentInput)-slow")
            throw ExitCode.failure
        }
        if peak > Self.memoryMegabytes {
            print("too much memory")
            throw ExitCode.failure
        }
    }

    private static let memoryMegabytes = 1024
}
