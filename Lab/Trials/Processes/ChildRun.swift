import Foundation
import HabitStore
import HabitStoreTesting
import Synchronization

extension ChildProcess {
    /// The path of this program.
    static var ownProgram: String { Bundle.main.executablePath ?? CommandLine.arguments[0] }

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
    ) throws -> End {
        let child = try ChildProcess(
            ownProgram,
            [command] + arguments,
            environment: environment(["HABITSTORE_CRASH_POINT": crashPoint]),
            errors: .inherited
        )
        let isOpen = crashPoint == nil || child.waitForOutput(withinSeconds: openingSeconds)
        if !child.hasEnded(withinSeconds: isOpen ? lifetimeSeconds : 0) {
            try willKill(child.id)
            child.signal(SIGKILL)
        }
        return try child.end()
    }
}

/// The executable of the trials, for tests.
package enum TrialsExecutable {
    /// Its path next to the tests.
    package static var path: String { get throws { try BuiltProgram.path("habitstore-trials") } }

    /// Runs a trial to its end.
    package static func run(_ arguments: [String]) throws -> ChildProcess.End {
        try ChildProcess.run(path, arguments, errors: .inherited)
    }
}

/// A system limit on a process, which the process lowers for a while.
enum ResourceLimit {
    case descriptors, memory, fileSize

    /// Sets the limit.
    ///
    /// - Returns: the previous limit.
    @discardableResult
    func set(_ value: UInt64) throws -> UInt64 {
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0 else { throw Self.error("read") }
        let before = UInt64(limit.rlim_cur)
        limit.rlim_cur = rlim_t(clamping: value)
        guard setrlimit(resource, &limit) == 0 else { throw Self.error("set") }
        return before
    }

    #if canImport(Glibc)
    private var resource: __rlimit_resource_t {
        switch self {
        case .descriptors: __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        case .memory: __rlimit_resource_t(RLIMIT_AS.rawValue)
        case .fileSize: __rlimit_resource_t(RLIMIT_FSIZE.rawValue)
        }
    }
    #else
    private var resource: Int32 {
        switch self {
        case .descriptors: RLIMIT_NOFILE
        case .memory: RLIMIT_AS
        case .fileSize: RLIMIT_FSIZE
        }
    }
    #endif

    /// This process's current usage; nil if the system does not report it.
    var used: UInt64? {
        switch self {
        case .descriptors: (try? FileManager.default.contentsOfDirectory(atPath: "/dev/fd")).map { UInt64($0.count) }
        case .memory:
            (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8))
                .flatMap { UInt64($0.prefix { $0 != " " }) }.map { $0 * UInt64(getpagesize()) }
        case .fileSize: 0
        }
    }

    private static func error(_ what: String) -> HabitStoreError {
        HabitStoreError(.inputOutput, "cannot \(what) a limit of the process: \(String(cString: strerror(errno)))")
    }
}

/// Ends the process if one operation takes forever: by processor time, which a busy machine does not use up, and, if nothing is computed either, by
/// wall
/// clock.
final class HangMonitor: Sendable {
    private struct Start {
        let processorMilliseconds: Double
        let instant: ContinuousClock.Instant
        let message: String
    }

    /// When the current operation began; nil between operations.
    private let began = Mutex<Start?>(nil)

    init(processorSeconds: Double, seconds: Double) {
        Thread.detachNewThread { [self] in
            while true {
                sleep(1)
                guard let start = began.withLock({ $0 }) else { continue }
                let processor = (ProcessorTime.milliseconds() - start.processorMilliseconds) / 1000
                if processor > processorSeconds || ContinuousClock.now - start.instant > .seconds(seconds) {
                    print(start.message)
                    exit(2)
                }
            }
        }
    }

    /// - Parameter message: what to print if the operation does not end.
    func begin(orPrint message: String) {
        let start = Start(processorMilliseconds: ProcessorTime.milliseconds(), instant: .now, message: message)
        began.withLock { $0 = start }
    }

    func end() { began.withLock { $0 = nil } }
}

/// The processor time of this process, which does not advance while other processes run.
enum ProcessorTime {
    static func milliseconds() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) * 1000 + Double(time.tv_nsec) / 1_000_000
    }
}
