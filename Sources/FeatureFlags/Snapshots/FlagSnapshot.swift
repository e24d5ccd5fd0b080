import Foundation
import Hashing
import JSONText

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
            case .json: try text.json(warnings: &warnings)
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

extension FlagSnapshot: FlagEvaluator {
    /// Evaluates a flag whatever the type of its value is.
    public func resolve(_ key: String, context: EvaluationContext) -> Resolution {
        guard let flag = flags[key] else { return notFound(key) }
        return flag.resolve(context, clock: clock)
    }

    /// Evaluates all flags for one subject, as of one time. Flags that are quarantined or disabled are among them.
    public func resolveAll(context: EvaluationContext) -> [String: Resolution] {
        let now = clock()
        return flags.mapValues { $0.resolve(context, clock: { now }) }
    }

    /// Evaluates a flag and explains the outcome: each evaluated operator with its place in the file and its result, and how
    /// percentages were decided. For people; slower than ``resolve(_:context:)``.
    public func explain(_ key: String, context: EvaluationContext) -> (resolution: Resolution, steps: [EvaluationStep])
    {
        guard let flag = flags[key] else { return (notFound(key), []) }
        let trace = EvaluationTrace()
        let resolution = flag.resolve(context, clock: clock, trace: trace)
        WorkMeter.current?.add(trace.work)
        return (resolution, trace.steps)
    }

    private func notFound(_ key: String) -> Resolution {
        guard isLoaded else {
            return .failure(.providerNotReady, "no flags could be read from \(source) yet", metadata: metadata)
        }
        return .failure(
            .flagNotFound,
            "there is no flag \(quoted(key)) in \(source)\(NearMiss.question(key, among: flags.keys))",
            metadata: metadata
        )
    }
}

/// Puts the flags of several files together. A later file's flag takes the place of an earlier one's as a whole, also
/// where it is quarantined: an error that shows is better than an answer out of the wrong file. Only a kill flag of an
/// earlier file still kills then: a mistake must not end a kill.
enum FlagLayers {
    /// A file's part.
    struct Layer {
        /// The last good flags, or nil where the file was never good.
        var snapshot: FlagSnapshot?
        /// The kill flags that the newest file defines wrongly, and whose last good definitions are in the snapshot.
        var retained: Set<String> = []
        /// The kill flags out of damaged files since the last good one, the newest definition first, see ``DamagedFile``.
        var salvaged: [String: [CompiledFlag]] = [:]
    }

    static func merged(
        _ layers: [Layer],
        sources: [String],
        configuration: FlagConfiguration
    ) -> FlagSnapshot {
        if layers.count == 1, let layer = layers.first, layer.salvaged.isEmpty, let snapshot = layer.snapshot {
            return snapshot
        }
        var flags: [String: CompiledFlag] = [:]
        var quarantined: [String: FlagError] = [:]
        var metadata: [String: FlagValue] = [:]
        var warnings: [FlagWarning] = []
        for layer in layers {
            for (key, flag) in layer.snapshot?.flags ?? [:] {
                let error = layer.snapshot?.quarantined[key]
                if error != nil, configuration.killFlags.contains(key), !layer.retained.contains(key),
                    let earlier = flags[key]
                {
                    flags[key] = CompiledFlag(key: key, behavior: .killing(earlier, otherwise: flag))
                } else {
                    flags[key] = flag
                }
                quarantined[key] = error
            }
            for (key, definitions) in layer.salvaged {
                for flag in definitions.reversed() {
                    flags[key] = CompiledFlag(key: key, behavior: .killing(flag, otherwise: flags[key]))
                }
            }
            metadata.merge(layer.snapshot?.metadata ?? [:], uniquingKeysWith: { _, later in later })
            warnings += layer.snapshot?.warnings ?? []
        }
        return FlagSnapshot(
            source: sources.joined(separator: ", "),
            metadata: metadata,
            quarantined: quarantined,
            warnings: warnings,
            digest: layers.compactMap { $0.snapshot?.digest }.joined(separator: "+"),
            flags: flags,
            isLoaded: layers.contains { $0.snapshot != nil },
            clock: configuration.clock
        )
    }
}

/// What tells the flags of two versions of a file apart, by key: the digest of a flag's definition, of the evaluators that
/// it refers to, and of the file's metadata, which is a part of each outcome. White space and the order of members count
/// for nothing.
enum FlagFingerprints {
    static func make(
        of flags: [(key: String, node: JSONNode)],
        metadata: [String: FlagValue],
        evaluators: [String: JSONNode]
    )
        -> [String: SHA256.Digest]
    {
        let common = DeterministicCBOR.encode(.object(metadata))
        var fingerprints: [String: SHA256.Digest] = [:]
        for (key, node) in flags {
            var hash = SHA256()
            hash.update(data: common)
            hash.update(data: DeterministicCBOR.encode(node.flagValue))
            var names: Set<String> = []
            collectReferences(node, &names)
            for name in names.sorted() {
                guard let evaluator = evaluators[name] else { continue }
                hash.update(data: DeterministicCBOR.encode(.list([.string(name), evaluator.flagValue])))
            }
            fingerprints[key] = hash.finalize()
        }
        return fingerprints
    }

    /// The keys whose flags are new, gone or other ones.
    static func changes(from old: [String: SHA256.Digest], to new: [String: SHA256.Digest]) -> Set<String> {
        Set(old.keys).union(new.keys).filter { old[$0] != new[$0] }
    }

    private static func collectReferences(_ node: JSONNode, _ names: inout Set<String>) {
        if case .string(let name)? = node.member("$ref")?.value.value { names.insert(name) }
        for child in node.children { collectReferences(child, &names) }
    }
}
