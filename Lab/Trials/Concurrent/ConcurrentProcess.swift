import Foundation
import HabitStoreRollout
import HabitStoreTesting

/// A process of the concurrent sweep, as its parent sees it.
struct ConcurrentProcess {
    let writerIndex: Int
    /// Where it dies; nil without a crash point.
    let crashPoint: String?
    let child: ChildProcess
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
        (self.writerIndex, self.crashPoint, self.errors) = (writerIndex, crashPoint, errors)
        try Data().write(to: errors)
        child = try ChildProcess(
            program?.path ?? ChildProcess.ownProgram,
            [command] + arguments,
            environment: ChildProcess.environment([
                "HABITSTORE_CRASH_POINT": crashPoint, "SWIFT_BACKTRACE": "enable=no",
            ]),
            input: .open,
            errors: .handle(FileHandle(forWritingTo: errors))
        )
    }

    /// How often it has written a line so far.
    func count(of line: String) -> Int {
        child.output.split(separator: UInt8(ascii: "\n")).count { $0.elementsEqual(line.utf8) }
    }

    /// The contents of its standard error.
    var death: ConcurrentDeath { ConcurrentDeath(errors: (try? String(contentsOf: errors, encoding: .utf8)) ?? "") }
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
