import Foundation
import HabitStoreRollout
import Synchronization

/// A process of the tangle sweep, as its parent sees it.
final class TangleProcess: Sendable {
    /// How a process ended.
    struct End {
        let output: Data
        /// Whether the sweep killed it.
        let wasKilled: Bool
        let isSignalled: Bool
        let status: Int32
        /// The contents of its standard error.
        let death: TangleDeath

        /// Whether it ended because it ran out of memory.
        var ranOutOfMemory: Bool { isSignalled && !wasKilled && death.isForWantOfMemory }
    }

    let lane: Int
    /// Where it dies; nil without a crash point.
    let crashPoint: String?
    private let process = Process()
    private let input = Pipe()
    private let output = Mutex(Data())
    private let read = DispatchSemaphore(value: 0)
    private let killed = Atomic<Bool>(false)

    private let errors: URL

    /// Its answers to "pause": it rests, or it could not.
    static let (paused, unpaused) = ("d paused", "d unpaused")

    /// Starts the process.
    ///
    /// - Parameters:
    ///   - command: its subcommand.
    ///   - program: another version of this program to run; nil for this one.
    ///   - errors: the file for its standard error.
    init(
        _ arguments: [String],
        as command: String = "tangle-child",
        of program: URL?,
        lane: Int,
        crashPoint: String?,
        errors: URL
    ) throws {
        self.lane = lane
        self.crashPoint = crashPoint
        self.errors = errors
        process.executableURL = program ?? Bundle.main.executableURL
        process.arguments = [command] + arguments
        var environment = ProcessInfo.processInfo.environment
        environment["HABITSTORE_CRASH_POINT"] = crashPoint
        environment["SWIFT_BACKTRACE"] = "enable=no"
        process.environment = environment
        try Data().write(to: errors)
        process.standardError = try FileHandle(forWritingTo: errors)
        let pipe = Pipe()
        process.standardOutput = pipe
        process.standardInput = input
        try process.run()
        try? pipe.fileHandleForWriting.close()
        try? input.fileHandleForReading.close()
        Thread.detachNewThread { [self] in
            while true {
                let part = pipe.fileHandleForReading.availableData
                if part.isEmpty { break }
                output.withLock { $0 += part }
            }
            read.signal()
        }
    }

    var isRunning: Bool { process.isRunning }

    /// Its output so far.
    var told: Data { output.withLock { $0 } }

    /// How often it has written a line so far.
    func count(of line: String) -> Int {
        told.split(separator: UInt8(ascii: "\n")).count { $0.elementsEqual(line.utf8) }
    }

    /// Stops it, continues it or kills it. The id stays its own until it was waited for.
    func signal(_ signal: Int32) {
        guard process.isRunning else { return }
        if signal == SIGKILL { killed.store(true, ordering: .sequentiallyConsistent) }
        kill(process.processIdentifier, signal)
    }

    /// Sends it a line.
    func tell(_ line: String) { try? input.fileHandleForWriting.write(contentsOf: Data("\(line)\n".utf8)) }

    /// Tells it to end.
    func close() { try? input.fileHandleForWriting.close() }

    /// Waits for it to end.
    func wait() { process.waitUntilExit() }

    /// Waits for it to end, and returns how it did; call it only once.
    func end() -> End {
        wait()
        // Its output is complete once the other end of the pipe is closed.
        read.wait()
        return End(
            output: told,
            wasKilled: killed.load(ordering: .sequentiallyConsistent),
            isSignalled: process.terminationReason == .uncaughtSignal,
            status: process.terminationStatus,
            death: TangleDeath(errors: (try? String(contentsOf: errors, encoding: .utf8)) ?? "")
        )
    }
}
