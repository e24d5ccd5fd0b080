import HabitStore

/// Reads a file without liblmdb and without a lock, while another process may write it.
///
/// The pages of snapshot N are reused, at the earliest, by the writer that begins after transaction N+2 was committed. So what was
/// read is consistent if the file is still at N or N+1 afterwards.
enum LMDBUnlockedReading {
    /// How often reading is restarted because of commits.
    private static let maximumAttempts = 10

    /// Passes the file's newest snapshot to `body`, which may run several times.
    ///
    /// - Throws: the errors of `body` for a snapshot that did not change; those of
    ///   ``LMDBFileInspector/inspect(path:waitMilliseconds:)``; `.busy` if other processes wrote too much each time.
    static func run<R>(path: String, _ body: (LMDBPageSource, LMDBFileHeader) throws -> R) throws -> R {
        let source = try LMDBPageSource(path: path)
        defer { source.close() }
        for _ in 0..<maximumAttempts {
            let header = try LMDBFileInspector.soundHeader(source)
            let result = Result { try body(source, header) }
            let last = try LMDBFileInspector.soundHeader(source).current.transaction
            // Results from pages that were overwritten mean nothing, whether damage or records.
            if last <= header.current.transaction + 1 { return try result.get() }
        }
        throw LMDBError.error(
            .busy,
            "others write the file faster than it can be read; stop them, or try again",
            path: path
        )
    }
}
