import HabitStore

/// Reads a file without liblmdb, and without a lock, while another process may write it.
///
/// The pages of snapshot N are used again at the earliest by the writer that begins when transaction N+2 was committed, so
/// what was read is one moment if the file is at N or N+1 afterwards.
enum LMDBUnlockedReading {
    /// How often reading is begun anew because of commits.
    private static let maximumAttempts = 10

    /// Hands the file's newest snapshot to `body`, which may run several times.
    ///
    /// - Throws: what `body` throws of a snapshot that stood still; as ``LMDBFileInspector/inspect(path:waitMilliseconds:)``
    ///   does; `.busy` when others wrote too much each time.
    static func run<R>(path: String, _ body: (LMDBPageSource, LMDBFileHeader) throws -> R) throws -> R {
        let source = try LMDBPageSource(path: path)
        defer { source.close() }
        for _ in 0..<maximumAttempts {
            let header = try LMDBFileInspector.soundHeader(source)
            let result = Result { try body(source, header) }
            let last = try LMDBFileInspector.soundHeader(source).current.transaction
            // What was found in pages that somebody wrote to says nothing, be it damage or records.
            if last <= header.current.transaction + 1 { return try result.get() }
        }
        throw LMDBError.error(
            .busy,
            "others write the file faster than it can be read; stop them, or try again",
            path: path
        )
    }
}
