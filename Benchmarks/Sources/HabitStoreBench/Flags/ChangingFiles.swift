import Foundation

/// A folder with a flag file and a sentinel file, and the changes that people and tools make to them.
struct ChangingFiles {
    /// The flag file or the link to it.
    let flags: String
    let sentinel: String
    private let folder: URL
    private let change: FlagFileChange

    private var prepared: String { folder.appendingPathComponent("prepared").path }

    init(_ change: FlagFileChange, _ folder: URL) throws {
        self.change = change
        self.folder = folder
        flags = folder.appendingPathComponent("flags.flagd.json").path
        sentinel = folder.appendingPathComponent("KILL").path
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let first = change == .linkSwap ? version(0) : flags
        try write(0, to: first)
        if change == .linkSwap { try check(symlink(first, flags), "symlink") }
    }

    /// Does the unmeasured work before the change.
    func prepare(_ number: Int) throws {
        switch change {
        case .renameSwap:
            try write(number, to: prepared)
        case .linkSwap:
            try write(number, to: version(number))
            try check(symlink(version(number), prepared), "symlink")
        case .inPlaceWrite, .sentinel:
            break
        }
    }

    /// Makes the change.
    ///
    /// - Returns: The time before the system call that completes it.
    func apply(_ number: Int) throws -> ContinuousClock.Instant {
        switch change {
        case .renameSwap, .linkSwap:
            let start = ContinuousClock.now
            try check(rename(prepared, flags), "rename")
            return start
        case .inPlaceWrite:
            return try write(number, to: flags)
        case .sentinel:
            let start = ContinuousClock.now
            try overwrite(sentinel, with: [])
            return start
        }
    }

    /// Cleans up after the change.
    func finish(_ number: Int) throws {
        switch change {
        case .linkSwap: try check(unlink(version(number - 1)), "unlink")
        case .sentinel: try check(unlink(sentinel), "unlink")
        case .renameSwap, .inPlaceWrite: break
        }
    }

    private func version(_ number: Int) -> String { folder.appendingPathComponent("flags-\(number).json").path }

    @discardableResult
    private func write(_ number: Int, to path: String) throws -> ContinuousClock.Instant {
        try overwrite(path, with: Array(FlagCases.file(number: number).utf8))
    }

    /// Returns the time before closing the file, which completes it.
    @discardableResult
    private func overwrite(_ path: String, with bytes: [UInt8]) throws -> ContinuousClock.Instant {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        try check(descriptor, "open")
        let written = Foundation.write(descriptor, bytes, bytes.count)
        let end = ContinuousClock.now
        close(descriptor)
        guard written == bytes.count else { throw failure("write") }
        return end
    }

    private func check(_ result: Int32, _ call: String) throws {
        guard result >= 0 else { throw failure(call) }
    }

    private func failure(_ call: String) -> BenchError {
        BenchError("\(call) in \(folder.path) failed: \(String(cString: strerror(errno)))")
    }
}
