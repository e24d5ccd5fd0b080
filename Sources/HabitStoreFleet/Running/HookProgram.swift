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
    /// - Parameter isNeeded: asked while the program runs; it is stopped as soon as its answer is not needed any more.
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
        var environment = ProcessInfo.processInfo.environment
        environment["HABITSTORE_EVENT"] = message.event
        environment["HABITSTORE_DELIVERY"] = message.delivery
        var group = try ProcessGroup(path, arguments, environment, input: message.body)
        defer { group.closePipes() }
        guard let ending = group.wait(seconds: timeoutSeconds, while: isNeeded) else {
            group.stop(graceSeconds: Self.graceSeconds)
            throw HookFailure(
                isNeeded()
                    ? "did not finish within \(timeoutSeconds) seconds" : "was stopped, as nobody waits for its answer"
            )
        }
        let said = Self.lastLine(of: group.errors).map { ": \($0)" } ?? ""
        switch ending {
        case .exit(0): return
        case .exit(let code): throw HookFailure("ended with exit code \(code)\(said)")
        case .signal(let signal): throw HookFailure("was ended by signal \(signal)\(said)")
        case .unknown: throw HookFailure("ended without an exit code: this process ignores SIGCHLD")
        }
    }

    /// The last line that a program wrote, short and printable; nil if there is none.
    private static func lastLine(of bytes: [UInt8]) -> String? {
        let line = String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isNewline).last
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
