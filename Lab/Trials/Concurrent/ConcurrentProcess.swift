import Foundation
import HabitStoreRollout
import Synchronization

/// A process of the concurrent sweep, as its parent sees it.
final class ConcurrentProcess: Sendable {
    /// How a process ended.
    struct End {
        let output: Data
        /// Whether the sweep killed it.
        let wasKilled: Bool
        let isSignalled: Bool
        let status: Int32
        /// The contents of its standard error.
        let death: ConcurrentDeath

        /// Whether it ended because it ran out of memory.
        var ranOutOfMemory: Bool { isSignalled && !wasKilled && death.isForWantOfMemory }
    }

    let writerIndex: Int
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
        writerIndex: Int,
        crashPoint: String?,
        errors: URL
    ) throws {
        self.writerIndex = writerIndex
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
            death: ConcurrentDeath(errors: (try? String(contentsOf: errors, encoding: .utf8)) ?? "")
        )
    }
}

/// The standard error of a process of the concurrent sweep that a signal ended, or that failed.
package struct ConcurrentDeath {
    /// The process's own messages, before any trace.
    private let messages: [Substring]
    /// Whether `system_faults_tell_deaths` found that no memory was left.
    private let hadNoMemory: Bool
    /// The stack, the innermost frame first: the file of the library or program, and what is known about the place in it.
    private let frames: [Substring]

    /// Messages of libraries that run out of memory.
    private static let words = ["bad_alloc", "failed to allocate", "cannot allocate memory", "no memory"]
    /// The C library, which other code calls, and which calls the signal handler.
    private static let callees = ["libc.so", "libc-", "linux-vdso"]
    /// The libraries of Swift itself.
    private static let runtimes = ["libswift", "libFoundation", "lib_Foundation", "libdispatch", "libstdc++"]

    /// - Parameter errors: all of its standard error.
    package init(errors: String) {
        let lines = errors.split(separator: "\n")
        let place = lines.firstIndex { $0.hasPrefix("died of signal ") }
        messages = Array(lines[..<(place ?? lines.endIndex)].prefix { !$0.hasPrefix("Current stack trace") })
        hadNoMemory = place.map { lines[$0].contains("no memory left") } ?? false
        // `/usr/lib/libc.so.6(abort+0xd3)[0x7f00]`
        let files = place.map { lines[($0 + 1)...] }?.map {
            $0[($0.prefix { $0 != "(" }.lastIndex(of: "/") ?? $0.startIndex)...]
        }
        frames = (files ?? []).map { $0.drop { $0 == "/" } }
    }

    /// Whether Swift itself ran out of memory, which no program survives.
    ///
    /// Swift's runtime needs memory even to report that. Without any, it ends the process silently, with a trap or by following a null pointer. In
    /// this
    /// package's code, or in an engine's library, that is a bug like any other.
    package var isForWantOfMemory: Bool {
        guard messages.isEmpty else {
            return messages.contains { line in Self.words.contains { line.lowercased().contains($0) } }
        }
        guard hadNoMemory, let place else { return false }
        return Self.runtimes.contains { place.hasPrefix($0) }
    }

    /// The reason in one line.
    package var summary: String { String(messages.first ?? place ?? "") }

    /// The innermost frame outside the C library.
    private var place: Substring? { frames.first { frame in !Self.callees.contains { frame.hasPrefix($0) } } }
}
