import Foundation
import HabitStore
import Synchronization

#if !os(iOS)
/// A program that runs next to a test or a trial; it is killed with this object.
///
/// Captured output is read all the time, so a full pipe never blocks the program.
package final class ChildProcess: Sendable {
    /// The standard input of a program.
    package enum Input: Sendable {
        /// Empty.
        case none
        /// What ``ChildProcess/tell(_:)`` writes, until ``ChildProcess/closeInput()``.
        case open
        case file(String)
    }

    /// Where a program's output goes.
    package enum Destination: Sendable {
        case captured, inherited, discarded
        case handle(FileHandle)
        /// For standard error: to the same place as standard output.
        case output
    }

    /// How a program ended.
    package struct End: Sendable, CustomStringConvertible {
        /// The exit code, or the signal that ended it.
        package let status: Int32
        package let isSignalled: Bool
        /// Whether its ``ChildProcess`` killed it.
        package let wasKilled: Bool
        /// The captured standard output.
        package let outputBytes: Data
        /// The captured standard error.
        package let errors: String

        package var output: String { String(decoding: outputBytes, as: UTF8.self) }

        /// Whether it exited with 0.
        package var isSuccess: Bool { !isSignalled && status == 0 }

        /// Whether SIGKILL ended it: from its ``ChildProcess``, or at a crash point.
        package var isKilled: Bool { isSignalled && status == SIGKILL }

        package var description: String {
            "\(isSignalled ? "ended by signal" : "exited with") \(status): \(errors)\(output)"
        }
    }

    /// One captured stream.
    private final class Capture: Sendable {
        let pipe = ChildProcess.pipe()
        let bytes = Mutex(Data())
        private let isWhole = DispatchSemaphore(value: 0)
        private static let drainingSeconds = 30

        func begin() {
            try? pipe.fileHandleForWriting.close()
            Thread.detachNewThread { [self] in
                while true {
                    let part = pipe.fileHandleForReading.availableData
                    if part.isEmpty { break }
                    bytes.withLock { $0 += part }
                }
                isWhole.signal()
            }
        }

        /// All of it, once the program has ended.
        func whole() -> Data {
            // A grandchild may still hold the other end.
            if isWhole.wait(timeout: .now() + .seconds(Self.drainingSeconds)) == .success { isWhole.signal() }
            return bytes.withLock { $0 }
        }
    }

    private let process = Process()
    private let name: String
    private let input: Pipe?
    private let isKilled = Atomic<Bool>(false)
    private let captured: (output: Capture?, errors: Capture?)
    private static let pollSeconds = 0.001

    /// Starts a program.
    ///
    /// - Parameters:
    ///   - program: its path, or its name in `PATH`.
    ///   - folder: its working directory; nil for this process's.
    ///   - environment: its variables; nil for this process's.
    package init(
        _ program: String,
        _ arguments: [String] = [],
        in folder: URL? = nil,
        environment: [String: String]? = nil,
        input: Input = .none,
        output: Destination = .captured,
        errors: Destination = .captured
    ) throws {
        let isPath = program.contains("/")
        name = URL(fileURLWithPath: program).lastPathComponent
        process.executableURL = URL(fileURLWithPath: isPath ? program : "/usr/bin/env")
        process.arguments = isPath ? arguments : [program] + arguments
        if let folder { process.currentDirectoryURL = folder }
        if let environment { process.environment = environment }
        if case .open = input { self.input = Self.pipe() } else { self.input = nil }
        switch input {
        case .none: process.standardInput = FileHandle.nullDevice
        case .open: process.standardInput = self.input
        case .file(let path): process.standardInput = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
        }
        captured = (Self.capture(output), Self.capture(errors))
        if let stream = captured.output?.pipe ?? Self.stream(output) { process.standardOutput = stream }
        if case .output = errors {
            process.standardError = process.standardOutput
        } else if let stream = captured.errors?.pipe ?? Self.stream(errors) {
            process.standardError = stream
        }
        try process.run()
        try? self.input?.fileHandleForReading.close()
        captured.output?.begin()
        captured.errors?.begin()
    }

    deinit { if process.isRunning { kill() } }

    /// A pipe that programs of other threads do not keep open.
    private static func pipe() -> Pipe {
        let pipe = Pipe()
        for end in [pipe.fileHandleForReading, pipe.fileHandleForWriting] {
            _ = fcntl(end.fileDescriptor, F_SETFD, FD_CLOEXEC)
        }
        return pipe
    }

    private static func capture(_ destination: Destination) -> Capture? {
        if case .captured = destination { Capture() } else { nil }
    }

    /// The place of a stream that is not captured; nil for this process's.
    private static func stream(_ destination: Destination) -> Any? {
        switch destination {
        case .captured, .inherited, .output: return nil
        case .discarded: return FileHandle.nullDevice
        case .handle(let handle): return handle
        }
    }

    /// Runs a program to its end.
    package static func run(
        _ program: String,
        _ arguments: [String],
        in folder: URL? = nil,
        environment: [String: String]? = nil,
        input: Input = .none,
        output: Destination = .captured,
        errors: Destination = .captured
    ) throws -> End {
        try ChildProcess(
            program,
            arguments,
            in: folder,
            environment: environment,
            input: input,
            output: output,
            errors: errors
        ).end()
    }

    /// This process's variables with changes; nil removes one.
    package static func environment(_ changes: [String: String?], of names: Set<String>? = nil) -> [String: String] {
        let own = ProcessInfo.processInfo.environment.filter { name, _ in names?.contains(name) ?? true }
        return changes.reduce(into: own) { $0[$1.key] = $1.value }
    }

    package var id: Int32 { process.processIdentifier }

    package var isRunning: Bool { process.isRunning }

    /// The captured output so far.
    package var output: Data { captured.output?.bytes.withLock { $0 } ?? Data() }

    /// Sends it a line.
    package func tell(_ line: String) { try? input?.fileHandleForWriting.write(contentsOf: Data("\(line)\n".utf8)) }

    /// Ends its input.
    package func closeInput() { try? input?.fileHandleForWriting.close() }

    /// Stops it, continues it, or ends it.
    ///
    /// - Returns: whether it was still running.
    @discardableResult
    package func signal(_ signal: Int32) -> Bool {
        // The id stays its own until it has ended.
        guard process.isRunning else { return false }
        if signal == SIGKILL { isKilled.store(true, ordering: .sequentiallyConsistent) }
        return Foundation.kill(id, signal) == 0
    }

    /// Kills it and waits for its end.
    ///
    /// - Returns: whether that is how it ended.
    @discardableResult
    package func kill() -> Bool {
        signal(SIGKILL)
        _ = hasEnded(withinSeconds: nil)
        return process.terminationReason == .uncaughtSignal
    }

    /// Waits until its output meets a condition, by default that there is any.
    ///
    /// - Returns: false if it ended first, or after the time limit.
    package func waitForOutput(withinSeconds seconds: Double = 60, _ isThere: (Data) -> Bool = { !$0.isEmpty }) -> Bool
    {
        let deadline = ContinuousClock.now + .seconds(seconds)
        while !isThere(output) {
            if !isRunning { return isThere(captured.output?.whole() ?? Data()) }
            if ContinuousClock.now > deadline { return false }
            Thread.sleep(forTimeInterval: Self.pollSeconds)
        }
        return true
    }

    /// Waits for its end, without a limit if `seconds` is nil.
    ///
    /// - Returns: whether it has ended.
    package func hasEnded(withinSeconds seconds: Double?) -> Bool {
        let deadline = seconds.map { ContinuousClock.now + .seconds($0) }
        while isRunning {
            if let deadline, ContinuousClock.now > deadline { return false }
            Thread.sleep(forTimeInterval: Self.pollSeconds)
        }
        return true
    }

    /// Waits for its end.
    ///
    /// - Throws: `busy` with its output, if it had to be killed after the time limit.
    package func end(withinSeconds seconds: Double? = 1_800) throws -> End {
        let hasEnded = hasEnded(withinSeconds: seconds)
        if !hasEnded { kill() }
        process.waitUntilExit()
        let end = End(
            status: process.terminationStatus,
            isSignalled: process.terminationReason == .uncaughtSignal,
            wasKilled: isKilled.load(ordering: .sequentiallyConsistent),
            outputBytes: captured.output?.whole() ?? Data(),
            errors: String(decoding: captured.errors?.whole() ?? Data(), as: UTF8.self)
        )
        guard hasEnded else { throw HabitStoreError(.busy, "\(name) did not end in time: \(end)") }
        return end
    }

    /// Ends its input and waits for its end.
    package func finish() throws -> End {
        closeInput()
        return try end()
    }

    /// Kills it after a time, unless it has ended by then.
    ///
    /// - Returns: whether it was killed.
    package func kill(afterSeconds seconds: Double) -> Bool {
        !hasEnded(withinSeconds: seconds) && kill()
    }
}

/// A program of this package.
package enum BuiltProgram {
    private final class Marker {}

    /// Its path, next to the tests.
    ///
    /// - Throws: `notFound` if it is not built.
    package static func path(_ name: String) throws -> String {
        let folders = [
            Bundle.main.executableURL?.deletingLastPathComponent(),
            Bundle(for: Marker.self).bundleURL.deletingLastPathComponent(),
            CommandLine.arguments.first.map { URL(fileURLWithPath: $0).deletingLastPathComponent() },
        ]
        let candidates = folders.compactMap { $0?.appendingPathComponent(name).path }
        guard let found = candidates.first(where: FileManager.default.isExecutableFile) else {
            throw HabitStoreError(.notFound, "\(name) is not built; it is expected at one of \(candidates)")
        }
        return found
    }
}
#endif
