import DurableFiles
import Foundation
import HabitStore

/// The executable of a hook. It reads a message as JSON from standard input and answers with its exit code.
struct HookProgram: Sendable {
    let path: String
    let arguments: [String]
    let timeoutSeconds: Double

    /// How much of a program's standard error is repeated, in characters.
    private static let mostWords = 200
    /// The time between SIGTERM and SIGKILL, in seconds.
    static let graceSeconds = 1.0

    /// - Throws: ``HabitStoreError/Code/unsupported`` for a hook without a program, which earlier versions reached by HTTP.
    init(_ hook: FleetPlan.Hook) throws(HabitStoreError) {
        guard let program = hook.program else {
            throw HabitStoreError(
                .unsupported,
                "the plan was drawn when hooks were URLs; give the hook \(hook.name) a program, and draw the plan again"
            )
        }
        (path, arguments, timeoutSeconds) = (program, hook.arguments, hook.timeoutSeconds)
    }

    /// Checks that the program and the interpreter that its first line names can be executed, and that only their owner and root can change what
    /// they do.
    ///
    /// - Throws: ``HabitStoreError/Code/notFound`` or ``HabitStoreError/Code/permissionDenied``.
    func check() throws(HabitStoreError) {
        try Self.check(path, "the hook program", missing: "there is no hook program at this path")
        var (script, depth) = (path, 0)
        while let interpreter = Self.interpreter(of: script), depth < Self.mostInterpreters {
            let named = "the interpreter that the first line of \(script) names"
            guard interpreter.hasPrefix("/") else {
                throw HabitStoreError(
                    .permissionDenied,
                    "\(named) must be a path that begins with /",
                    at: .init(path: interpreter)
                )
            }
            let isFromWindows = interpreter.hasSuffix("\r")
            try Self.check(
                interpreter,
                named,
                missing: isFromWindows
                    ? "\(named) ends with a carriage return; save the program with Unix line ends"
                    : "\(named) is missing; install it, or correct that line"
            )
            (script, depth) = (interpreter, depth + 1)
        }
    }

    private static func check(_ path: String, _ what: String, missing: String) throws(HabitStoreError) {
        let place = HabitStoreError.Location(path: path)
        var status = stat()
        guard stat(path, &status) == 0 else {
            throw errno == ENOENT || errno == ENOTDIR
                ? HabitStoreError(.notFound, missing, at: place)
                : HabitStoreError(
                    .permissionDenied,
                    "\(what) cannot be reached: \(String(cString: strerror(errno)))",
                    at: place
                )
        }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw HabitStoreError(
                .permissionDenied,
                "\(what) is not a regular file; give the path of an executable file",
                at: place
            )
        }
        guard access(path, X_OK) == 0 else {
            throw HabitStoreError(.permissionDenied, "\(what) cannot be executed; `chmod +x` it", at: place)
        }
        guard let other = try UntrustedStep(on: path) else { return }
        let isProgram = other.path == path
        throw HabitStoreError(
            .permissionDenied,
            "others may change \(what)" + (isProgram ? "" : " by \(other.path)")
                + "; make \(isProgram ? "it" : "that") yours, and `chmod go-w` it",
            at: place
        )
    }

    /// The number of interpreters, each a script that names the next one, after which Linux gives up.
    private static let mostInterpreters = 5
    /// How much of a program Linux reads to find the interpreter, in bytes.
    private static let firstLineBytes = 256

    /// The interpreter in a script's first line; nil for a binary, and for a file that cannot be read, which no interpreter could read either.
    private static func interpreter(of path: String) -> String? {
        guard let file = try? OpenFile(path, O_RDONLY | O_NONBLOCK) else { return nil }
        var bytes = [UInt8](repeating: 0, count: firstLineBytes)
        let count = bytes.withUnsafeMutableBytes { read(file.descriptor, $0.baseAddress, $0.count) }
        guard count > 2, bytes.starts(with: "#!".utf8) else { return nil }
        let line = bytes[2..<count].prefix { $0 != UInt8(ascii: "\n") }
        let (space, tab) = (UInt8(ascii: " "), UInt8(ascii: "\t"))
        let name = line.drop { $0 == space || $0 == tab }.prefix { $0 != space && $0 != tab && $0 != 0 }
        return String(decoding: name, as: UTF8.self)
    }

    /// Runs the program of a hook and waits for it, at most for the hook's timeout.
    ///
    /// - Parameter isNeeded: asked while the program runs; it is stopped as soon as nobody waits for its answer any more.
    /// - Throws: why the message was not delivered.
    static func deliver(
        _ message: HookMessage,
        to hook: FleetPlan.Hook,
        while isNeeded: () -> Bool = { true }
    ) throws(HookFailure) {
        let program: HookProgram
        do {
            program = try HookProgram(hook)
            try program.check()
        } catch {
            throw HookFailure("cannot be run: \(error)")
        }
        try program.run(message, while: isNeeded)
    }

    private func run(_ message: HookMessage, while isNeeded: () -> Bool) throws(HookFailure) {
        // Files, because an unread pipe blocks, and writing to a closed one raises SIGPIPE.
        let (input, errors) = (try Self.scratchFile(message.body), try Self.scratchFile())
        var environment = ProcessInfo.processInfo.environment
        environment["HABITSTORE_EVENT"] = message.event
        environment["HABITSTORE_DELIVERY"] = message.delivery
        let group = try ProcessGroup(path, arguments, environment, input: input, errors: errors)
        guard let ending = group.wait(seconds: timeoutSeconds, while: isNeeded) else {
            group.stop(graceSeconds: Self.graceSeconds)
            throw HookFailure(
                isNeeded()
                    ? "did not finish within \(timeoutSeconds) seconds" : "was stopped, as nobody waits for its answer"
            )
        }
        let said = Self.lastLine(of: errors).map { ": \($0)" } ?? ""
        switch ending {
        case .exit(0): return
        case .exit(let code): throw HookFailure("ended with exit code \(code)\(said)")
        case .signal(let signal): throw HookFailure("was ended by signal \(signal)\(said)")
        case .unknown: throw HookFailure("ended without an exit code: this process ignores SIGCHLD")
        }
    }

    /// An unnamed file, positioned at its beginning.
    private static func scratchFile(_ contents: Data = Data()) throws(HookFailure) -> FileHandle {
        var path = Array((NSTemporaryDirectory() + "/habitstore-hook-XXXXXX").utf8CString)
        let descriptor = mkstemp(&path)
        guard descriptor >= 0 else {
            throw HookFailure("cannot be run: no temporary file: \(String(cString: strerror(errno)))")
        }
        unlink(path)
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        do {
            try file.write(contentsOf: contents)
            try file.seek(toOffset: 0)
        } catch {
            throw HookFailure("cannot be run: its message cannot be written: \(error.localizedDescription)")
        }
        return file
    }

    /// The last line that a program wrote, short and printable; nil if there is none.
    private static func lastLine(of file: FileHandle) -> String? {
        let bytes: Data?
        do {
            let end = try file.seekToEnd()
            try file.seek(toOffset: end > 4_096 ? end - 4_096 : 0)
            bytes = try file.read(upToCount: 4_096)
        } catch {
            // The exit code is the answer; the words only explain it.
            return nil
        }
        let line = String(decoding: bytes ?? Data(), as: UTF8.self).split(whereSeparator: \.isNewline).last
        let words = line?.unicodeScalars.filter { !CharacterSet.controlCharacters.contains($0) }
        return words.map { String(String.UnicodeScalarView($0)).prefix(mostWords) }.map(String.init)
    }
}

/// Why a hook did not get a message, in the words that follow its name.
public struct HookFailure: Error, Sendable, Hashable, CustomStringConvertible {
    /// `ended with exit code 7: curl: (7) Failed to connect to hooks.example port 443`
    public let description: String

    init(_ words: String) {
        description = words.split(whereSeparator: \.isNewline).joined(separator: " ")
    }
}

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
    /// - Returns: nil if it still runs after this time, or when `isNeeded` says no.
    func wait(seconds: Double, while isNeeded: () -> Bool = { true }) -> Ending? {
        guard hasEnded(within: seconds, while: isNeeded) else { return nil }
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
    private func hasEnded(within seconds: Double, while isNeeded: () -> Bool = { true }) -> Bool {
        let limit = ContinuousClock.now + .seconds(seconds)
        var pause: useconds_t = 1_000
        while true {
            var found = siginfo_t()
            let code = waitid(P_PID, id_t(leader), &found, WEXITED | WNOHANG | WNOWAIT)
            if code == 0 ? found.si_signo == SIGCHLD : errno != EINTR { return true }
            if ContinuousClock.now >= limit || !isNeeded() { return false }
            usleep(pause)
            pause = min(pause * 2, 50_000)
        }
    }
}

extension FleetFolder {
    /// Makes sure that only root and this process's user can change what a fleet's hooks execute: whoever can change the folder, the plan or the ledger
    /// can name another program. Call this before reading the plan.
    ///
    /// - Throws: ``HabitStoreError/Code/permissionDenied``.
    func requireOwnHooks() throws(HabitStoreError) {
        var status = stat()
        // Before the first drawing, whoever can write to the root can make the folder.
        let isDrawn = lstat(path, &status) == 0
        let folder = isDrawn ? path : (path as NSString).deletingLastPathComponent
        let files = [
            (folder, "the fleet's folder"), (plan + ".json", "the fleet's plan"), (plan + ".yaml", "the fleet's plan"),
            (ledger, "the fleet's ledger"),
        ]
        for (file, what) in files where lstat(file, &status) == 0 {
            guard let other = try UntrustedStep(on: file) else { continue }
            let isFile = other.path == file
            throw HabitStoreError(
                .permissionDenied,
                "others may change \(what)" + (isFile ? "" : " by \(other.path)")
                    + "; run this as the owner, or make \(isFile ? "it" : "that") yours and `chmod go-w` it",
                at: .init(path: file)
            )
        }
    }
}

/// A folder, a link or a file on the way to a file that someone other than root and this process's user can exchange.
struct UntrustedStep {
    let path: String

    /// The number of links after which Linux gives up.
    private static let mostLinks = 40

    /// Walks the path as the system does, link by link. nil if no other user can change where it leads.
    ///
    /// - Throws: ``HabitStoreError/Code/notFound`` if a step does not exist.
    init?(on path: String) throws(HabitStoreError) {
        var (steps, place, links) = (Self.steps(path), "/", 0)
        while true {
            var status = stat()
            guard lstat(place, &status) == 0 else { throw Self.missing(place) }
            let isLink = status.st_mode & S_IFMT == S_IFLNK
            if ![0, geteuid()].contains(status.st_uid) || !isLink && Self.isOpen(status) {
                self.path = place
                return
            }
            if isLink {
                links += 1
                guard links <= Self.mostLinks, let target = Self.target(of: place) else { throw Self.missing(place) }
                steps = Self.steps(target) + steps
                place = target.hasPrefix("/") ? "/" : Self.folder(of: place)
            }
            guard let step = steps.first else { return nil }
            steps.removeFirst()
            place = step == ".." ? Self.folder(of: place) : place == "/" ? "/" + step : place + "/" + step
        }
    }

    /// In a folder with the sticky bit, users can exchange only their own files.
    private static func isOpen(_ status: stat) -> Bool {
        let isSticky = status.st_mode & S_IFMT == S_IFDIR && status.st_mode & S_ISVTX != 0
        return status.st_mode & 0o022 != 0 && !isSticky
    }

    private static func steps(_ path: String) -> [String] {
        path.split(separator: "/").filter { $0 != "." }.map(String.init)
    }

    /// The folder of a path that contains no `..`.
    private static func folder(of path: String) -> String {
        let parent = path.split(separator: "/").dropLast().joined(separator: "/")
        return "/" + parent
    }

    private static func target(of link: String) -> String? {
        var bytes = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink(link, &bytes, bytes.count)
        return count > 0 ? String(decoding: bytes.prefix(count).map(UInt8.init(bitPattern:)), as: UTF8.self) : nil
    }

    private static func missing(_ place: String) -> HabitStoreError {
        HabitStoreError(.notFound, "this step on the way to a hook program is missing", at: .init(path: place))
    }
}
