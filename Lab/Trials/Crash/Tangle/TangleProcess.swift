import Foundation
import HabitStoreRollout
import Synchronization

/// A process of the tangle, as the one that has started it sees it.
final class TangleProcess: Sendable {
    /// How it came to its end.
    struct End {
        let output: Data
        /// Whether this process has killed it.
        let wasKilled: Bool
        let isSignalled: Bool
        let status: Int32
        /// What it wrote to its standard error.
        let death: TangleDeath

        /// Whether it ended by itself, since it was given no memory.
        var ranOutOfMemory: Bool { isSignalled && !wasKilled && death.isForWantOfMemory }
    }

    /// The number of its lane.
    let lane: Int
    /// Where it is to die; nil for nowhere of its own.
    let crashPoint: String?
    private let process = Process()
    private let input = Pipe()
    private let output = Mutex(Data())
    private let read = DispatchSemaphore(value: 0)
    private let killed = Atomic<Bool>(false)

    private let errors: URL

    /// What it tells when it has come to rest, and when it could not.
    static let (paused, unpaused) = ("d paused", "d unpaused")

    /// Starts it.
    ///
    /// - Parameters:
    ///   - command: what it is to do.
    ///   - program: the version of this command whose child it is; nil for this one.
    ///   - errors: where it writes its standard error.
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

    /// What it has told so far.
    var told: Data { output.withLock { $0 } }

    /// How often it has told a line so far.
    func count(of line: String) -> Int {
        told.split(separator: UInt8(ascii: "\n")).count { $0.elementsEqual(line.utf8) }
    }

    /// Stops it where it is, lets it go on, or kills it. The id is its own for as long as it was not waited for.
    func signal(_ signal: Int32) {
        guard process.isRunning else { return }
        if signal == SIGKILL { killed.store(true, ordering: .sequentiallyConsistent) }
        kill(process.processIdentifier, signal)
    }

    /// Tells it something.
    func tell(_ line: String) { try? input.fileHandleForWriting.write(contentsOf: Data("\(line)\n".utf8)) }

    /// Tells it that it is to come to its end.
    func close() { try? input.fileHandleForWriting.close() }

    /// Waits for its end.
    func wait() { process.waitUntilExit() }

    /// Waits for its end, and tells how it came about; once.
    func end() -> End {
        wait()
        // What it told is all there once the other end of the pipe is closed.
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
