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
    private static let graceSeconds = 1.0

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

    /// Checks that the program can be executed, and that only its owner and root can change what it does.
    ///
    /// - Throws: ``HabitStoreError/Code/notFound`` or ``HabitStoreError/Code/permissionDenied``.
    func check() throws(HabitStoreError) {
        var status = stat()
        guard stat(path, &status) == 0 else {
            throw HabitStoreError(.notFound, "there is no hook program at this path", at: .init(path: path))
        }
        guard status.st_mode & S_IFMT == S_IFREG, access(path, X_OK) == 0 else {
            throw HabitStoreError(
                .permissionDenied,
                "the hook program cannot be executed; `chmod +x` it",
                at: .init(path: path)
            )
        }
        guard let other = try UntrustedStep(on: path) else { return }
        let isProgram = other.path == path
        throw HabitStoreError(
            .permissionDenied,
            "others may change the hook program" + (isProgram ? "" : " by \(other.path)")
                + "; make \(isProgram ? "it" : "that") yours, and `chmod go-w` it",
            at: .init(path: path)
        )
    }

    /// Runs the program of a hook and waits for it, at most for the hook's timeout.
    ///
    /// - Throws: why the message was not delivered.
    static func deliver(_ message: HookMessage, to hook: FleetPlan.Hook) throws(HookFailure) {
        let program: HookProgram
        do {
            program = try HookProgram(hook)
            try program.check()
        } catch {
            throw HookFailure("cannot be run: \(error)")
        }
        try program.run(message)
    }

    private func run(_ message: HookMessage) throws(HookFailure) {
        // Files, because an unread pipe blocks, and writing to a closed one raises SIGPIPE.
        let (input, errors) = (try Self.scratchFile(message.body), try Self.scratchFile())
        var environment = ProcessInfo.processInfo.environment
        environment["HABITSTORE_EVENT"] = message.event
        environment["HABITSTORE_DELIVERY"] = message.delivery
        let group = try ProcessGroup(path, arguments, environment, input: input, errors: errors)
        guard let ending = group.wait(seconds: timeoutSeconds) else {
            group.stop(graceSeconds: Self.graceSeconds)
            throw HookFailure("did not finish within \(timeoutSeconds) seconds")
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
