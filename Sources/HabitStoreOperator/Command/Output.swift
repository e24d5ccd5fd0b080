import DurableFiles
import Foundation
import HabitStore
import Synchronization

/// Standard output.
package enum Output {
    private static let used = Atomic<Bool>(false)

    /// Whether anything was written to it.
    package static var isUsed: Bool { used.load(ordering: .acquiring) }

    /// Writes a text completely.
    ///
    /// - Throws: ``OutputClosed`` if the reader went away, and a ``CommandFailure`` if it cannot be written.
    package static func write(_ text: String) throws {
        if !text.isEmpty { used.store(true, ordering: .releasing) }
        if let reason = writeAll(text, to: STDOUT_FILENO) {
            guard reason != EPIPE else { throw OutputClosed() }
            throw CommandFailure(
                status: .inputOutput,
                message: "the output cannot be written: \(String(cString: strerror(reason)))"
            )
        }
    }

    /// - Throws: ``OutputClosed`` if the reader of a pipe, socket or terminal went away; other outputs would have to be written to.
    package static func requireReader() throws {
        var stream = pollfd(fd: STDOUT_FILENO, events: 0, revents: 0)
        guard poll(&stream, 1, 0) > 0, Int32(stream.revents) & Int32(POLLERR | POLLHUP) != 0 else { return }
        throw OutputClosed()
    }

    /// Writes a text completely; waits even if another program has made the stream nonblocking.
    ///
    /// - Returns: the error number of a failure, or nil.
    package static func writeAll(_ text: String, to descriptor: Int32) -> Int32? {
        var text = text
        return text.withUTF8 { bytes in
            var position = 0
            while position < bytes.count {
                let rest = UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(bytes)[position...])
                let written = Foundation.write(descriptor, rest.baseAddress, rest.count)
                if written >= 0 {
                    position += written
                } else if errno == EAGAIN || errno == EWOULDBLOCK {
                    var stream = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                    _ = poll(&stream, 1, -1)
                } else if errno != EINTR {
                    return errno
                }
            }
            return nil
        }
    }
}

/// The output has no reader any more.
struct OutputClosed: Error {}

/// Standard error, for errors, notes and progress.
package enum StandardError {
    /// Writes a text. A failure is ignored, because there is nowhere left to report it.
    package static func write(_ text: String) { _ = Output.writeAll(text, to: STDERR_FILENO) }

    /// Writes a note: one line that accompanies an answer and is not an error.
    package static func note(_ text: String) { write(line(ofNote: text)) }

    /// The line of a note.
    static func line(ofNote text: String) -> String {
        "\(Tool.name): note: \(TerminalText.escaped(Passwords.redacted(AdvisedUser.filled(text))))\n"
    }

    /// Notes that a store's contents are incomplete, if a copy or an import into it was not finished.
    package static func noteIfUnfinished(_ role: StoreRole) {
        guard role == .backfilling else { return }
        note("a copy or an import into this store is not finished; this is its content so far")
    }
}

/// The terminals of the standard streams.
package enum Terminal {
    /// Whether a stream is a terminal.
    package static func isTerminal(_ descriptor: Int32) -> Bool { isatty(descriptor) == 1 }

    /// The columns of a stream's terminal; nil if it is not a terminal.
    package static func columns(of descriptor: Int32) -> Int? {
        var size = winsize()
        guard isTerminal(descriptor), ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else {
            return nil
        }
        return Int(size.ws_col)
    }

    /// Moves to the top and clears the terminal, so that the next text replaces its contents.
    package static let home = "\u{1B}[H\u{1B}[J"

    /// The layout options for text on standard output.
    package static func options(isASCII: Bool = false) -> TerminalOptions {
        let environment = ProcessInfo.processInfo.environment
        let wantsColor = (environment["NO_COLOR"] ?? "").isEmpty && environment["TERM"] != "dumb"
        return TerminalOptions(
            columns: columns(of: STDOUT_FILENO),
            isASCII: isASCII,
            usesColor: wantsColor && isTerminal(STDOUT_FILENO)
        )
    }
}

/// A progress bar on standard error, if that is a terminal.
package final class ProgressBar {
    private static let width = 30
    private static let pauseSeconds = 0.1

    private let isShown: Bool
    private var lastDrawn: ContinuousClock.Instant?

    package init(isQuiet: Bool) { isShown = !isQuiet && Terminal.isTerminal(STDERR_FILENO) }

    /// Draws the progress, unless it was drawn a moment ago.
    package func show(_ label: String, _ done: Int, _ total: Int) {
        guard isShown else { return }
        let now = ContinuousClock.now
        if let lastDrawn, now - lastDrawn < .seconds(Self.pauseSeconds) { return }
        lastDrawn = now
        let fraction = total > 0 ? min(1, max(0, Double(done) / Double(total))) : 0
        let filled = Int(fraction * Double(Self.width))
        let bar = String(repeating: "#", count: filled) + String(repeating: "-", count: Self.width - filled)
        let percent = TerminalText.padded("\(Int(fraction * 100))%", toWidth: 4, alignment: .right)
        let line = "[\(bar)] \(percent) \(TerminalText.escaped(label))"
        let columns = Terminal.columns(of: STDERR_FILENO) ?? 80
        StandardError.write("\r" + TerminalText.truncated(line, toWidth: max(1, columns - 1)) + "\u{1B}[K")
    }

    /// Removes the bar.
    package func clear() {
        if lastDrawn != nil { StandardError.write("\r\u{1B}[K") }
        lastDrawn = nil
    }
}

/// A file that a command replaces atomically, and that only its owner may read.
struct OutputFile {
    let path: String
    /// The first bytes of files of this kind; a file that begins differently is not overwritten.
    let beginning: Data

    /// Writes a file next to it and renames that.
    ///
    /// - Throws: a usage error if something else exists at the path, and a ``CommandFailure`` if the file cannot be written.
    func write(_ data: Data) throws {
        try checkPlace()
        do {
            try DurableFile.replace(path, data, draft: DurableFile.ownDraft(of: path))
        } catch {
            throw failure(error.number)
        }
    }

    private func checkPlace() throws {
        var status = stat()
        guard lstat(path, &status) == 0 else {
            guard errno == ENOENT else { throw failure() }
            return
        }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw CommandFailure.usage("\(path): not a regular file, which is not overwritten; name another one")
        }
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw failure() }
        defer { close(descriptor) }
        var start = [UInt8](repeating: 0, count: beginning.count)
        let count = read(descriptor, &start, start.count)
        guard count >= 0 else { throw failure() }
        guard count == 0 || Data(start.prefix(count)) == beginning else {
            throw CommandFailure.usage("\(path): a file of another kind, which is not overwritten; name another one")
        }
    }

    private func failure(_ number: Int32 = errno) -> CommandFailure {
        CommandFailure(
            status: .inputOutput,
            message: "\(path): it cannot be written: \(String(cString: strerror(number)))"
        )
    }
}

/// A file for its owner only that is written in pieces and gets its name when it is complete.
final class NewFile {
    private let path: String
    private let draft: String
    private let file: OpenFile

    /// - Throws: a usage error if something exists at the path, and a ``CommandFailure`` if no file can be created.
    init(_ path: String) throws {
        let draft = DurableFile.ownDraft(of: path)
        (self.path, self.draft) = (path, draft)
        try Self.requireNothing(path)
        file = try Self.mappingErrors(path) { () throws(FileFailure) in try OpenFile(newAt: draft) }
    }

    private static func requireNothing(_ path: String) throws {
        var status = stat()
        guard lstat(path, &status) == 0 else { return }
        throw CommandFailure.usage(
            "\(path): something exists here already and is not overwritten; name another place"
        )
    }

    func write(_ text: String) throws {
        try Self.mappingErrors(path) { () throws(FileFailure) in try file.write(Array(text.utf8)) }
    }

    /// Gives the file its name.
    func publish() throws {
        try Self.requireNothing(path)
        try Self.mappingErrors(path) { () throws(FileFailure) in
            try file.synchronize()
            try DurableFile.move(draft, to: path)
        }
    }

    /// Removes an incomplete file.
    func remove() { unlink(draft) }

    private static func mappingErrors<R: ~Copyable>(_ path: String, _ body: () throws(FileFailure) -> R) throws -> R {
        do {
            return try body()
        } catch {
            throw CommandFailure(status: .inputOutput, message: "\(path): the file \(error)")
        }
    }
}

/// Buffers short texts and writes them in larger pieces.
final class TextPiece {
    private static let limit = 1 << 16

    private var text = ""
    private let write: (String) throws -> Void

    init(_ write: @escaping (String) throws -> Void) { self.write = write }

    func add(_ part: String) throws {
        text += part
        if text.utf8.count >= Self.limit { try finish() }
    }

    /// Writes the rest.
    func finish() throws {
        guard !text.isEmpty else { return }
        try write(text)
        text = ""
    }
}
