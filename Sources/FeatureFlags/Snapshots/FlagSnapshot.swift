import Foundation
import Hashing

/// The flags of one file, or of several files in order, at one time: loaded once, immutable, and safe to share between
/// threads.
///
/// The format is flagd's (`flags.json` of flagd-schemas), as JSON or YAML. A file that is neither, or has no `flags`, is
/// an error of its initializer. One flag that cannot be understood is quarantined: it resolves to `PARSE_ERROR` and the
/// caller's default, and the other flags of the file work.
public final class FlagSnapshot: Sendable {
    /// The file's path, or the name that the caller gave to the source.
    public let source: String
    /// The flag set's metadata, such as `flagSetId` and `version`.
    public let metadata: [String: FlagValue]
    /// The flags that cannot be understood, by key. One of them that is disabled nevertheless resolves as `DISABLED`.
    public let quarantined: [String: FlagError]
    /// Warnings for the file's author, in the order in which they were found; at most ``FlagLimits/warnings``.
    public let warnings: [FlagWarning]
    /// The SHA-256 digest of the file's bytes in hexadecimal digits, as `sha256sum` prints it; empty for no file.
    public let digest: String

    let flags: [String: CompiledFlag]
    /// Fingerprints that distinguish the flags from those of another version of the file, see ``FlagFingerprints``; empty if not
    /// requested.
    let fingerprints: [String: SHA256.Digest]
    /// Whether a file was read at all; without one there is nothing to be found.
    let isLoaded: Bool
    let clock: @Sendable () -> Int64

    /// Reads flags from JSON.
    ///
    /// - Parameters:
    ///   - json: The file's content, in UTF-8.
    ///   - source: What errors and warnings call the file.
    ///   - configuration: How the flags are evaluated.
    /// - Throws: A ``FlagError`` with line and column, if the content cannot be read as a flag file.
    public convenience init(
        json: Data,
        source: String,
        configuration: FlagConfiguration = FlagConfiguration()
    ) throws(FlagError) {
        try self.init(data: json, format: .json, source: source, configuration: configuration)
    }

    /// Reads flags from YAML, in the JSON schema of YAML 1.2: `true` and `false` are the only booleans.
    ///
    /// - Parameters:
    ///   - yaml: The file's content, in UTF-8.
    ///   - source: What errors and warnings call the file.
    ///   - configuration: How the flags are evaluated.
    /// - Throws: A ``FlagError`` with line and column, if the content cannot be read as a flag file.
    public convenience init(
        yaml: Data,
        source: String,
        configuration: FlagConfiguration = FlagConfiguration()
    ) throws(FlagError) {
        try self.init(data: yaml, format: .yaml, source: source, configuration: configuration)
    }

    /// Reads the flag file at a path; symbolic links are followed.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - format: The file's format; nil goes by the path's extension, see ``FlagFormat/init(path:)``.
    ///   - configuration: How the flags are evaluated.
    /// - Throws: A ``FlagError``: `FILE_NOT_FOUND`, `NOT_A_FILE`, `FILE_UNREADABLE`, `FILE_TOO_LARGE`, or
    ///   `PARSE_ERROR` with line and column.
    public static func load(
        path: String,
        format: FlagFormat? = nil,
        configuration: FlagConfiguration = FlagConfiguration()
    ) throws(FlagError) -> FlagSnapshot {
        try FlagSnapshot(
            bytes: FlagFileReader.read(path: path),
            format: format ?? FlagFormat(path: path),
            source: path,
            configuration: configuration
        )
    }

    /// The system's time in seconds since 1970.
    public static let systemClock = FlagConfiguration.systemClock

    /// The keys of all flags, quarantined ones too, in the order of their bytes.
    public var keys: [String] { flags.keys.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) } }

    /// Whether there is a flag of this key, be it quarantined.
    public func contains(_ key: String) -> Bool { flags[key] != nil }

    private convenience init(
        data: Data,
        format: FlagFormat,
        source: String,
        configuration: FlagConfiguration
    ) throws(FlagError) {
        guard data.count <= FlagLimits.fileSizeBytes else {
            throw FlagFileReader.tooLarge(FlagError.Location(file: source))
        }
        try self.init(bytes: Array(data), format: format, source: source, configuration: configuration)
    }

    package init(
        bytes: [UInt8],
        format: FlagFormat,
        source: String,
        configuration: FlagConfiguration,
        makesFingerprints: Bool = false
    ) throws(FlagError) {
        let text = try SourceText(bytes: bytes, name: source)
        var warnings = FlagWarningList()
        if text.hadByteOrderMark {
            warnings.add("the file begins with a byte order mark; flagd refuses it", text, at: 0)
        }
        let root: JSONNode =
            switch format {
            case .json: try JSONParser.parse(text, warnings: &warnings)
            case .yaml: try YAMLReader.parse(text)
            }
        var compiler = FlagFileCompiler(source: text, configuration: configuration, warnings: warnings)
        try compiler.compile(root)
        self.source = source
        clock = configuration.clock
        digest = FileDigest.hexadecimal(of: bytes)
        metadata = compiler.metadata
        quarantined = compiler.quarantined
        self.warnings = compiler.warnings.warnings
        flags = compiler.flags
        fingerprints = makesFingerprints ? compiler.fingerprints(of: root) : [:]
        isLoaded = true
    }

    /// Flags that were put together, see ``FlagLayers``.
    init(
        source: String,
        metadata: [String: FlagValue] = [:],
        quarantined: [String: FlagError] = [:],
        warnings: [FlagWarning] = [],
        digest: String = "",
        flags: [String: CompiledFlag] = [:],
        fingerprints: [String: SHA256.Digest] = [:],
        isLoaded: Bool,
        clock: @escaping @Sendable () -> Int64
    ) {
        self.source = source
        self.metadata = metadata
        self.quarantined = quarantined
        self.warnings = warnings
        self.digest = digest
        self.flags = flags
        self.fingerprints = fingerprints
        self.isLoaded = isLoaded
        self.clock = clock
    }
}
