import Foundation
import Synchronization

/// A program that was started as the leader of a process group. Its input and its errors are pipes, so hooks run on a full disk, too.
///
/// Foundation's `Process` is not used: on Linux it notices the end of a program only when everything that the program started has ended, too.
struct ProcessGroup {
    enum Ending: Equatable {
        case exit(Int32)
        case signal(Int32)
        /// The system reaped the program, because this process ignores SIGCHLD.
        case unknown
    }

    /// The end of what the program has written to standard error.
    private(set) var errors: [UInt8] = []
    private let leader: pid_t
    /// This process's ends of the pipes; nil once closed.
    private var (writing, reading): (Int32?, Int32?)
    /// The part of the input that is not in the pipe yet.
    private var rest: Data

    /// How much of its errors is kept, and how much is read between two looks at whether it has ended, in bytes.
    private static let (mostErrors, mostRead) = (4_096, 1 << 20)
    /// Held from making a pipe until the program has been started: one that another thread starts before the pipe is marked would keep it open.
    private static let starting = NSLock()

    /// The leaders that were started and not reaped, and whether this process ends them: the number of one that was reaped may be another group's.
    private static let running = Mutex((leaders: Set<pid_t>(), isEnding: false))

    /// Starts the program with an empty signal mask and default signal handlers. Its standard output is discarded.
    ///
    /// - Parameter input: its standard input; what does not fit into a pipe is sent while ``wait(seconds:while:)`` runs.
    /// - Throws: why it cannot be started.
    init(
        _ path: String,
        _ arguments: [String],
        _ environment: [String: String],
        input: Data
    ) throws(HookFailure) {
        #if canImport(Darwin)
        var (actions, attributes): (posix_spawn_file_actions_t?, posix_spawnattr_t?) = (nil, nil)
        #else
        var (actions, attributes) = (posix_spawn_file_actions_t(), posix_spawnattr_t())
        #endif
        posix_spawn_file_actions_init(&actions)
        posix_spawnattr_init(&attributes)
        defer {
            posix_spawn_file_actions_destroy(&actions)
            posix_spawnattr_destroy(&attributes)
        }
        Self.starting.lock()
        defer { Self.starting.unlock() }
        guard !Self.running.withLock(\.isEnding) else { throw HookFailure("was not run, as this process is ending") }
        let message = try HookPipe()
        defer { close(message.reading) }
        let errors: HookPipe
        do throws(HookFailure) {
            errors = try HookPipe()
        } catch {
            close(message.writing)
            throw error
        }
        defer { close(errors.writing) }
        message.prepareForWriting()
        errors.prepareForReading()
        // Before the program runs: if this process is killed from here on, the program still gets what fits into a pipe, which is every message.
        let sent = max(0, HookPipe.write(input, to: message.writing))
        posix_spawn_file_actions_adddup2(&actions, message.reading, STDIN_FILENO)
        posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0)
        posix_spawn_file_actions_adddup2(&actions, errors.writing, STDERR_FILENO)
        var flags = Int32(POSIX_SPAWN_SETPGROUP) | Int32(POSIX_SPAWN_SETSIGMASK) | Int32(POSIX_SPAWN_SETSIGDEF)
        // A lock that the program inherited would outlive this process.
        #if canImport(Darwin)
        flags |= Int32(POSIX_SPAWN_CLOEXEC_DEFAULT)
        #else
        // Not `addclosefrom_np`, which is new in glibc 2.34.
        let descriptors = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
        for descriptor in descriptors.compactMap(Int32.init) where descriptor > STDERR_FILENO {
            posix_spawn_file_actions_addclose(&actions, descriptor)
        }
        #endif
        var (none, all) = (sigset_t(), sigset_t())
        sigemptyset(&none)
        sigfillset(&all)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setsigdefault(&attributes, &all)
        posix_spawnattr_setpgroup(&attributes, 0)
        posix_spawnattr_setflags(&attributes, Int16(flags))
        let words = ([path] + arguments).map { strdup($0) } + [nil]
        let variables = environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { for word in words + variables { free(word) } }
        var id: pid_t = 0
        let code = posix_spawn(&id, path, &actions, &attributes, words, variables)
        guard code == 0 else {
            close(message.writing)
            close(errors.reading)
            throw HookFailure("cannot be run: \(String(cString: strerror(code)))")
        }
        Self.running.withLock { running in
            running.leaders.insert(id)
            if running.isEnding { kill(-id, SIGKILL) }
        }
        (leader, writing, reading, rest) = (id, message.writing, errors.reading, input.dropFirst(sent))
    }

    /// Waits for the program itself, and not for what it started.
    ///
    /// - Returns: nil if it still runs after this time, or when `isNeeded` says no.
    mutating func wait(seconds: Double, while isNeeded: () -> Bool = { true }) -> Ending? {
        guard hasEnded(within: seconds, while: isNeeded) else { return nil }
        var status: Int32 = 0
        let reaped = Self.running.withLock { running in
            if running.isEnding { kill(-leader, SIGKILL) }
            running.leaders.remove(leader)
            return waitpid(leader, &status, WNOHANG)
        }
        guard reaped == leader else { return .unknown }
        // WIFEXITED, WEXITSTATUS and WTERMSIG are macros.
        return status & 0x7f == 0 ? .exit(status >> 8 & 0xff) : .signal(status & 0x7f)
    }

    /// Ends the group: by SIGTERM, and after this time by SIGKILL. Does not wait for a process that the system cannot end now.
    mutating func stop(graceSeconds: Double) {
        kill(-leader, SIGTERM)
        _ = hasEnded(within: graceSeconds)
        // A child may ignore the signal that ended the leader. The leader has not been reaped: the number is not another group's.
        kill(-leader, SIGKILL)
        _ = wait(seconds: graceSeconds)
    }

    /// Ends all groups as ``stop(graceSeconds:)`` does, and lets none start any more: this process is about to end.
    static func endAll(graceSeconds: Double) {
        running.withLock { running in
            running.isEnding = true
            for leader in running.leaders { kill(-leader, SIGTERM) }
        }
        let limit = ContinuousClock.now + .seconds(graceSeconds)
        // The threads that wait for the programs reap them.
        while ContinuousClock.now < limit, running.withLock({ !$0.leaders.isEmpty }) { usleep(10_000) }
        running.withLock { running in
            for leader in running.leaders { kill(-leader, SIGKILL) }
        }
    }

    /// Leaves the leader's exit code to be read.
    private mutating func hasEnded(within seconds: Double, while isNeeded: () -> Bool = { true }) -> Bool {
        let limit = ContinuousClock.now + .seconds(seconds)
        var pauseMilliseconds: Int32 = 1
        while true {
            exchange()
            var found = siginfo_t()
            let code = waitid(P_PID, id_t(leader), &found, WEXITED | WNOHANG | WNOWAIT)
            if code == 0 ? found.si_signo == SIGCHLD : errno != EINTR {
                exchange()
                return true
            }
            if ContinuousClock.now >= limit || !isNeeded() { return false }
            var ends: [pollfd] = []
            if let writing, !rest.isEmpty { ends.append(pollfd(fd: writing, events: Int16(POLLOUT), revents: 0)) }
            if let reading { ends.append(pollfd(fd: reading, events: Int16(POLLIN), revents: 0)) }
            poll(&ends, nfds_t(ends.count), pauseMilliseconds)
            pauseMilliseconds = min(pauseMilliseconds * 2, 50)
        }
    }

    /// Closes the pipes. What still runs and writes to standard error gets SIGPIPE: its words have no reader.
    mutating func closePipes() {
        closeInput()
        closeErrors()
    }

    private mutating func closeInput() {
        if let writing { close(writing) }
        writing = nil
    }

    private mutating func closeErrors() {
        if let reading { close(reading) }
        reading = nil
    }

    /// Writes and reads what the pipes have room for and contain now.
    private mutating func exchange() {
        while let writing, !rest.isEmpty {
            let count = HookPipe.write(rest, to: writing)
            if count < 0 {
                // The program reads no more.
                if errno != EAGAIN, errno != EINTR { closeInput() }
                break
            }
            rest = rest.dropFirst(count)
        }
        if rest.isEmpty { closeInput() }
        var (chunk, left) = ([UInt8](repeating: 0, count: 65_536), Self.mostRead)
        while let reading, left > 0 {
            let count = chunk.withUnsafeMutableBytes { read(reading, $0.baseAddress, $0.count) }
            guard count > 0 else {
                if count == 0 || errno != EAGAIN && errno != EINTR { closeErrors() }
                break
            }
            left -= count
            errors = Array((errors + chunk[..<count]).suffix(Self.mostErrors))
        }
    }
}

/// A pipe between this process and a program.
private struct HookPipe {
    let reading: Int32
    let writing: Int32

    init() throws(HookFailure) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else {
            throw HookFailure("cannot be run: there is no pipe for it: \(String(cString: strerror(errno)))")
        }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        (reading, writing) = (ends[0], ends[1])
    }

    /// Makes reading by this process not wait. The program's end still waits.
    func prepareForReading() { _ = fcntl(reading, F_SETFL, O_NONBLOCK) }

    /// Makes writing by this process not wait, and fail rather than raise SIGPIPE where the system can do that.
    func prepareForWriting() {
        _ = fcntl(writing, F_SETFL, O_NONBLOCK)
        #if canImport(Darwin)
        _ = fcntl(writing, F_SETNOSIGPIPE, 1)
        #endif
    }

    /// Writes to a pipe that may have lost its reader: SIGPIPE would end this process.
    ///
    /// - Returns: as `write(2)`.
    static func write(_ data: Data, to descriptor: Int32) -> Int {
        #if !canImport(Darwin)
        var (pipe, before) = (sigset_t(), sigset_t())
        sigemptyset(&pipe)
        sigaddset(&pipe, SIGPIPE)
        pthread_sigmask(SIG_BLOCK, &pipe, &before)
        #endif
        let count = data.withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress, $0.count) }
        let number = errno
        #if !canImport(Darwin)
        var atOnce = timespec()
        // The signal is this thread's: it waits until it is taken.
        if count < 0, number == EPIPE { sigtimedwait(&pipe, nil, &atOnce) }
        pthread_sigmask(SIG_SETMASK, &before, nil)
        #endif
        errno = number
        return count
    }
}
