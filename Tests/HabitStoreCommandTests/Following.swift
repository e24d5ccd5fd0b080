import Foundation
import HabitStoreTesting
import Testing

/// A run of the command that continues until it is stopped, and its output so far.
final class Following {
    /// The destination of the output.
    enum Output {
        case file
        case terminal
    }

    private static let patienceSeconds = 20.0

    let process: ChildProcess
    private let descriptor: Int32
    private let isTerminal: Bool
    private var read = Data()

    /// Starts the command for the user `alice`.
    init(_ sandbox: Sandbox, _ arguments: [String], to output: Output = .file) throws {
        isTerminal = output == .terminal
        let other: Int32
        switch output {
        case .file:
            let path = sandbox.path("following-\(UUID().uuidString)")
            other = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
            descriptor = open(path, O_RDONLY | O_CLOEXEC)
        case .terminal: (descriptor, other) = try Self.terminal()
        }
        try #require(descriptor >= 0 && other >= 0)
        let end = FileHandle(fileDescriptor: other, closeOnDealloc: true)
        // If the tests run in a shell's background, the signal is ignored, and their children inherit that.
        let disposition = signal(SIGINT, SIG_DFL)
        defer { signal(SIGINT, disposition) }
        process = try sandbox.start(arguments, output: .handle(end), errors: .discarded)
    }

    /// Whether pseudoterminals are available.
    static var hasTerminals: Bool {
        #if os(Linux)
        access("/dev/ptmx", R_OK | W_OK) == 0
        #else
        false
        #endif
    }

    /// Both ends of a pseudoterminal: the non-blocking one to read from, and the command's.
    private static func terminal() throws -> (Int32, Int32) {
        let end = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC)
        var (isLocked, number): (Int32, Int32) = (0, 0)
        // TIOCSPTLCK and TIOCGPTN, which glibc exposes only to C.
        try #require(ioctl(end, UInt(0x4004_5431), &isLocked) == 0 && ioctl(end, UInt(0x8004_5430), &number) == 0)
        return (end, open("/dev/pts/\(number)", O_RDWR | O_NOCTTY | O_CLOEXEC))
    }

    deinit { close(descriptor) }

    /// The output so far.
    func output() -> String {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = Foundation.read(descriptor, &buffer, buffer.count)
            guard count > 0 else { return String(decoding: read, as: UTF8.self) }
            read += buffer[..<count]
        }
    }

    /// Waits until the output satisfies a condition.
    @discardableResult
    func wait(
        _ comment: Comment,
        sourceLocation: SourceLocation = #_sourceLocation,
        until isWanted: (String) -> Bool
    ) throws -> String {
        let end = Date() + Self.patienceSeconds
        while Date() < end {
            let output = output()
            if isWanted(output) { return output }
            try #require(process.isRunning, "\(comment): it ended: \(output)", sourceLocation: sourceLocation)
            usleep(20_000)
        }
        throw Late(comment: "\(comment)", output: output())
    }

    struct Late: Error {
        let comment: String
        let output: String
    }

    /// Interrupts it like Ctrl-C at a terminal.
    func interrupt() throws -> CommandRun {
        process.signal(SIGINT)
        return try process.end()
    }
}
