import Foundation

/// The run of a child process.
struct ChildRun {
    /// Its standard output.
    let output: Data
    /// Whether the crash point killed it, rather than this process.
    let diedByItself: Bool
    let status: Int32
    let isSignalled: Bool

    /// The time limit for a child to open its stores.
    private static let openingSeconds = 20.0

    /// Runs a child until it dies.
    ///
    /// - Parameters:
    ///   - command: the child's subcommand.
    ///   - lifetimeSeconds: how long it lives; with a crash point, from when it has opened its stores.
    ///   - willKill: called with the process's id right before this process kills it.
    static func run(
        _ arguments: [String],
        as command: String,
        crashPoint: String?,
        lifetimeSeconds: Double,
        willKill: (Int32) throws -> Void = { _ in }
    ) throws -> ChildRun {
        let process = Process()
        process.executableURL = Bundle.main.executableURL
        process.arguments = [command] + arguments
        var environment = ProcessInfo.processInfo.environment
        environment["HABITSTORE_CRASH_POINT"] = crashPoint
        process.environment = environment
        let pipe = Pipe()
        process.standardOutput = pipe
        process.standardInput = FileHandle.nullDevice
        try process.run()
        try? pipe.fileHandleForWriting.close()
        let descriptor = pipe.fileHandleForReading.fileDescriptor
        var output = Data()
        var deadline = Date(timeIntervalSinceNow: crashPoint == nil ? lifetimeSeconds : openingSeconds)
        var diedByItself = true
        while let part = read(descriptor, until: diedByItself ? deadline : nil) {
            if part.isEmpty {
                try willKill(process.processIdentifier)
                diedByItself = false
                // The process is this one's child and was not waited for, so the id is still its own.
                kill(process.processIdentifier, SIGKILL)
            }
            if crashPoint != nil, output.isEmpty { deadline = Date(timeIntervalSinceNow: lifetimeSeconds) }
            output += part
        }
        process.waitUntilExit()
        return ChildRun(
            output: output,
            diedByItself: diedByItself,
            status: process.terminationStatus,
            isSignalled: process.terminationReason == .uncaughtSignal
        )
    }

    /// Some bytes; empty at the deadline, nil if the other end is closed.
    private static func read(_ descriptor: Int32, until deadline: Date?) -> Data? {
        var waited = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        let milliseconds = deadline.map { Int32(max(0, $0.timeIntervalSinceNow * 1_000)) } ?? -1
        guard poll(&waited, 1, milliseconds) > 0 else { return Data() }
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let count = Foundation.read(descriptor, &buffer, buffer.count)
        return count > 0 ? Data(buffer[..<count]) : nil
    }
}
