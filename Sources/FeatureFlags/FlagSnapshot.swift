import Foundation

/// The flags of one file at one time: loaded once, immutable, and safe to share between threads.
///
/// The format is flagd's (`flags.json` of flagd-schemas). A file that is not JSON, or has no `flags`, is an error of
/// its initializer. One flag that cannot be understood is quarantined: it resolves to `PARSE_ERROR` and the caller's
/// default, and the other flags of the file work.
public final class FlagSnapshot: Sendable {
    /// The file's path, or the name that the caller gave to the source.
    public let source: String
    /// The flag set's metadata, such as `flagSetId` and `version`.
    public let metadata: [String: FlagValue]
    /// The flags that cannot be understood, by key. One of them that is disabled nevertheless resolves as `DISABLED`.
    public let quarantined: [String: FlagError]
    /// What the file's author would want to know, in the order in which it was found; at most
    /// ``FlagLimits/warnings``.
    public let warnings: [FlagWarning]

    let flags: [String: CompiledFlag]
    let clock: @Sendable () -> Int64

    /// Reads flags from JSON.
    ///
    /// - Parameters:
    ///   - json: The file's content, in UTF-8.
    ///   - source: What errors and warnings call the file.
    ///   - clock: Gives `$flagd.timestamp`, in seconds since 1970.
    /// - Throws: A ``FlagError`` with line and column, if the content cannot be read as a flag file.
    public convenience init(
        json: Data,
        source: String,
        clock: @escaping @Sendable () -> Int64 = FlagSnapshot.systemClock
    ) throws(FlagError) {
        guard json.count <= FlagLimits.fileSizeBytes else {
            throw FlagFileReader.tooLarge(FlagError.Location(file: source))
        }
        try self.init(bytes: Array(json), source: source, clock: clock)
    }

    /// Reads the flag file at a path; symbolic links are followed.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - clock: Gives `$flagd.timestamp`, in seconds since 1970.
    /// - Throws: A ``FlagError``: `FILE_NOT_FOUND`, `NOT_A_FILE`, `FILE_UNREADABLE`, `FILE_TOO_LARGE`, or
    ///   `PARSE_ERROR` with line and column.
    public static func load(
        path: String,
        clock: @escaping @Sendable () -> Int64 = FlagSnapshot.systemClock
    ) throws(FlagError) -> FlagSnapshot {
        try FlagSnapshot(bytes: FlagFileReader.read(path: path), source: path, clock: clock)
    }

    /// The system's time in seconds since 1970.
    public static let systemClock: @Sendable () -> Int64 = { Int64(time(nil)) }

    /// The keys of all flags, quarantined ones too, in the order of their bytes.
    public var keys: [String] { flags.keys.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) } }

    private init(bytes: [UInt8], source: String, clock: @escaping @Sendable () -> Int64) throws(FlagError) {
        let text = try SourceText(bytes: bytes, name: source)
        var warnings = FlagWarningList()
        if text.hadByteOrderMark {
            warnings.add("the file begins with a byte order mark; flagd refuses it", text, at: 0)
        }
        let root = try JSONParser.parse(text, warnings: &warnings)
        var compiler = FlagFileCompiler(source: text, warnings: warnings)
        try compiler.compile(root)
        self.source = source
        self.clock = clock
        self.metadata = compiler.metadata
        self.quarantined = compiler.quarantined
        self.warnings = compiler.warnings.warnings
        self.flags = compiler.flags
    }
}
