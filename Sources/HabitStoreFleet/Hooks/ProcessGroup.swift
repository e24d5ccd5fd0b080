import Foundation

/// A program that was started as the leader of a process group.
///
/// Foundation's `Process` is not used: on Linux it notices the end of a program only when everything that the program started has ended, too.
struct ProcessGroup {
    enum Ending: Equatable {
        case exit(Int32)
        case signal(Int32)
        /// The system reaped the program, because this process ignores SIGCHLD.
        case unknown
    }

    private let leader: pid_t

    /// Starts the program with an empty signal mask and default signal handlers. What it prints to standard output is discarded.
    ///
    /// - Throws: why it cannot be started.
    init(
        _ path: String,
        _ arguments: [String],
        _ environment: [String: String],
        input: FileHandle,
        errors: FileHandle
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
        posix_spawn_file_actions_adddup2(&actions, input.fileDescriptor, STDIN_FILENO)
        posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0)
        posix_spawn_file_actions_adddup2(&actions, errors.fileDescriptor, STDERR_FILENO)
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
        guard code == 0 else { throw HookFailure("cannot be run: \(String(cString: strerror(code)))") }
        leader = id
    }

    /// Waits for the program itself, and not for what it started.
    ///
    /// - Returns: nil if it still runs after this time.
    func wait(seconds: Double) -> Ending? {
        guard hasEnded(within: seconds) else { return nil }
        var status: Int32 = 0
        guard waitpid(leader, &status, WNOHANG) == leader else { return .unknown }
        // WIFEXITED, WEXITSTATUS and WTERMSIG are macros.
        return status & 0x7f == 0 ? .exit(status >> 8 & 0xff) : .signal(status & 0x7f)
    }

    /// Ends the group: by SIGTERM, and after this time by SIGKILL. Does not wait for a process that the system cannot end now.
    func stop(graceSeconds: Double) {
        kill(-leader, SIGTERM)
        _ = hasEnded(within: graceSeconds)
        // A child may ignore the signal that ended the leader. The leader has not been reaped: the number is not another group's.
        kill(-leader, SIGKILL)
        _ = wait(seconds: graceSeconds)
    }

    /// Leaves the leader's exit code to be read.
    private func hasEnded(within seconds: Double) -> Bool {
        let limit = ContinuousClock.now + .seconds(seconds)
        var pause: useconds_t = 1_000
        while true {
            var found = siginfo_t()
            let code = waitid(P_PID, id_t(leader), &found, WEXITED | WNOHANG | WNOWAIT)
            if code == 0 ? found.si_signo == SIGCHLD : errno != EINTR { return true }
            if ContinuousClock.now >= limit { return false }
            usleep(pause)
            pause = min(pause * 2, 50_000)
        }
    }
}
