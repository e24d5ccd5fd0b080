import Foundation

/// One file over time: its last good flags, and what is wrong with it now.
struct FlagSourceLoader: Sendable {
    enum Outcome: Equatable {
        case unchanged
        /// Another file is in force, or the same one again; the flags of these keys are other ones.
        case changed(keys: [String])
        case failed(FlagError)
        /// It failed as it did before, with the same bytes or none.
        case failedAgain
    }

    private let configuration: FlagConfiguration
    private(set) var state: FlagSourceState
    private(set) var layer = FlagLayers.Layer()
    /// The bytes that were read last, good or not.
    private var readDigest: String?
    /// The fingerprint of the file that was read last, taken before its bytes were, and whether a change since then would show in it.
    private var read: (fingerprint: FileFingerprint, showsChanges: Bool)?

    init(_ source: FlagSource, _ configuration: FlagConfiguration) {
        self.configuration = configuration
        state = FlagSourceState(source: source)
    }

    /// The file's current fingerprint.
    var fingerprint: FileFingerprint { FileFingerprint(state.source.path, followsLinks: true) }

    /// The fingerprint of the file that was read last.
    var readFingerprint: FileFingerprint? { read?.fingerprint }

    /// Whether the file is another one than was read.
    var isChanged: Bool { readFingerprint != fingerprint }

    /// Whether it may be another one, for all that the system says.
    var mayBeChanged: Bool { read?.showsChanges != true || isChanged }

    mutating func reload() -> Outcome {
        let path = state.source.path
        let atPath = fingerprint
        read = (atPath, atPath.showsChanges)
        let bytes: [UInt8]
        do throws(FlagError) {
            bytes = try FlagFileReader.read(path: path) { descriptor in
                let opened = FileFingerprint(descriptor: descriptor)
                read = (opened, opened.showsChanges)
            }
        } catch {
            return fail(error, digest: nil, salvaged: [:])
        }
        let digest = FileDigest.hexadecimal(of: bytes)
        if digest == readDigest { return state.error == nil ? .unchanged : .failedAgain }
        do throws(FlagError) {
            let snapshot = try FlagSnapshot(
                bytes: bytes,
                format: state.source.format,
                source: path,
                configuration: configuration,
                makesFingerprints: true
            )
            return accept(snapshot, digest: digest)
        } catch {
            var damaged = DamagedFile(bytes: bytes, name: path, configuration: configuration)
            return fail(error, digest: digest, salvaged: damaged?.killFlags(state.source.format) ?? [:])
        }
    }

    private mutating func accept(_ snapshot: FlagSnapshot, digest: String) -> Outcome {
        readDigest = digest
        var changed = FlagFingerprints.changes(from: layer.snapshot?.fingerprints ?? [:], to: snapshot.fingerprints)
        // What damaged files had to say of them may end with this file.
        changed.formUnion(layer.salvaged.keys)
        let (kept, retained) = retainingKillFlags(snapshot)
        // A kill salvaged from a damaged file ends with a valid definition or with none, but not with a wrong one.
        let salvaged = layer.salvaged.filter { snapshot.quarantined[$0.key] != nil }
        layer = FlagLayers.Layer(snapshot: kept, retained: Set(retained), salvaged: salvaged)
        state.status = .current
        state.error = nil
        state.digest = snapshot.digest
        state.loadedAt = Date()
        state.quarantined = snapshot.quarantined
        state.warnings = snapshot.warnings
        state.retainedKillFlags = retained
        state.salvagedKillFlags = salvaged.keys.sorted()
        return .changed(keys: changed.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) })
    }

    private mutating func fail(
        _ error: FlagError,
        digest: String?,
        salvaged: [String: CompiledFlag]
    ) -> Outcome {
        let isSame = state.error == error && digest == readDigest
        readDigest = digest
        for (key, flag) in salvaged { keep(flag, key) }
        state.error = error
        state.status = layer.snapshot == nil ? .unavailable : .lastGood
        state.salvagedKillFlags = layer.salvaged.keys.sorted()
        return isSame ? .failedAgain : .failed(error)
    }

    /// Keeps a kill flag from a damaged file next to those of earlier damaged files, any of which may kill: the next mistake must not end what
    /// the previous one left.
    private mutating func keep(_ flag: CompiledFlag, _ key: String) {
        let earlier = layer.salvaged[key] ?? []
        switch flag.fixedResolution?.value {
        case .bool(true)?: layer.salvaged[key] = [flag]
        case .some where !earlier.isEmpty: break
        case .some, nil: layer.salvaged[key] = [flag] + earlier.prefix(FlagLimits.salvagedDefinitions - 1)
        }
    }

    /// A kill flag that cannot be understood any more stays what it was: a mistake in it must not end a kill.
    private func retainingKillFlags(_ snapshot: FlagSnapshot) -> (FlagSnapshot, [String]) {
        var flags = snapshot.flags
        var retained: [String] = []
        for key in configuration.killFlags.sorted() where snapshot.quarantined[key] != nil {
            guard let last = layer.snapshot?.flags[key] else { continue }
            // It was quarantined before too, and then there is nothing better to keep.
            if layer.snapshot?.quarantined[key] != nil, !state.retainedKillFlags.contains(key) { continue }
            flags[key] = last
            retained.append(key)
        }
        guard !retained.isEmpty else { return (snapshot, []) }
        let kept = FlagSnapshot(
            source: snapshot.source,
            metadata: snapshot.metadata,
            quarantined: snapshot.quarantined,
            warnings: snapshot.warnings,
            digest: snapshot.digest,
            flags: flags,
            fingerprints: snapshot.fingerprints,
            isLoaded: true,
            clock: snapshot.clock
        )
        return (kept, retained)
    }
}

/// A file that flags are read from.
public struct FlagSource: Sendable, Hashable {
    /// The file; symbolic links are followed, also when they change.
    public var path: String
    /// The file's format.
    public var format: FlagFormat

    /// Names a file; without a format its extension decides.
    public init(path: String, format: FlagFormat? = nil) {
        self.path = path
        self.format = format ?? FlagFormat(path: path)
    }
}

/// How things stand with one file.
public struct FlagSourceState: Sendable {
    /// Which flags are in force.
    public enum Status: String, Sendable {
        /// Those of the current file.
        case current
        /// The last good file: what is there now cannot be read.
        case lastGood
        /// Nothing: the file was never good.
        case unavailable
    }

    /// The file.
    public let source: FlagSource
    /// Which of its flags are in force.
    public internal(set) var status: Status = .unavailable
    /// Why the file as it is now cannot be read; nil where it can.
    public internal(set) var error: FlagError?
    /// The SHA-256 digest of the file in force in hexadecimal digits; nil where there is none.
    public internal(set) var digest: String?
    /// When the file in force was read.
    public internal(set) var loadedAt: Date?
    /// The flags of the file in force that cannot be understood.
    public internal(set) var quarantined: [String: FlagError] = [:]
    /// Warnings for the author of the file in force.
    public internal(set) var warnings: [FlagWarning] = []
    /// Kill flags whose definition in the newest file cannot be understood, so that the last good one holds.
    public internal(set) var retainedKillFlags: [String] = []
    /// Kill flags that were read out of damaged files since they were last defined well, see
    /// ``FlagConfiguration/killFlags``.
    public internal(set) var salvagedKillFlags: [String] = []
}
