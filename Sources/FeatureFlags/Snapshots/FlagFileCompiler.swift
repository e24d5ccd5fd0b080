import Foundation
import Hashing
import JSONText

/// Turns the JSON of a whole flag file into compiled flags.
package struct FlagFileCompiler {
    private let source: SourceText
    private let configuration: FlagConfiguration
    private(set) var warnings: FlagWarningList
    package private(set) var flags: [String: CompiledFlag] = [:]
    package private(set) var quarantined: [String: FlagError] = [:]
    /// All flags in the order of the file, also those that a later one of the same key hides.
    private var definitions: [(key: String, node: JSONNode)] = []
    private(set) var metadata: [String: FlagValue] = [:]

    package init(source: SourceText, configuration: FlagConfiguration, warnings: FlagWarningList) {
        self.source = source
        self.configuration = configuration
        self.warnings = warnings
    }

    package mutating func compile(_ root: JSONNode) throws(FlagError) {
        for problem in FlagForm.problems(ofFile: root) {
            if problem.isError { throw error(problem.message, problem.range) }
            warnings.add(problem.message, source, at: problem.range.lowerBound)
        }
        metadata = FlagForm.metadata(of: root)
        guard let member = root.member("flags") else { throw error("the file has no \"flags\"", root.range) }
        var compiler = FlagCompiler(
            source: source,
            configuration: configuration,
            evaluators: evaluators(of: root),
            flagSetMetadata: metadata,
            warnings: warnings
        )
        switch member.value.value {
        case .object(let members):
            for flag in members { add(flag.key, flag.value, flag.keyRange, &compiler) }
        case .array(let elements):
            for element in elements { addElement(element, &compiler) }
        default:
            throw error("the \"flags\" must be an object or an array", member.value.range)
        }
        warnings = compiler.warnings
    }

    /// What tells the compiled flags from those of another version of the file.
    package func fingerprints(of root: JSONNode) -> [String: SHA256.Digest] {
        return FlagFingerprints.make(of: definitions, metadata: metadata, evaluators: root.evaluators)
    }

    private mutating func evaluators(of root: JSONNode) -> SharedEvaluators {
        if let member = root.member("$evaluators"), !member.value.isObject {
            warnings.add("the \"$evaluators\" must be an object; it is ignored", source, at: member.keyRange.lowerBound)
        }
        return SharedEvaluators(
            source: source,
            configuration: configuration,
            nodes: root.evaluators,
            refusesConstantBuckets: true
        )
    }

    private func error(_ message: String, _ range: Range<Int>) -> FlagError {
        FlagError(.parseError, message, at: source.location(at: range.lowerBound))
    }

    /// A flag of the array form. One without a key cannot be asked for, and so it is left out with a warning.
    private mutating func addElement(_ element: JSONNode, _ compiler: inout FlagCompiler) {
        guard let member = element.member("key"), case .string(let key) = member.value.value else {
            compiler.warnings.add(
                "a flag of an array must be an object with a \"key\"; it is left out",
                source,
                at: element.range.lowerBound
            )
            return
        }
        add(key, element, member.value.range, &compiler)
    }

    private mutating func add(
        _ key: String,
        _ node: JSONNode,
        _ keyRange: Range<Int>,
        _ compiler: inout FlagCompiler
    ) {
        definitions.append((key, node))
        if flags[key] != nil {
            compiler.warnings.add(
                "the flag \(quoted(key)) occurs twice; the last one counts",
                source,
                at: keyRange.lowerBound
            )
        }
        let (flag, error) = compiler.compile(key, node, keyRange: keyRange)
        flags[key] = flag
        quarantined[key] = error
    }
}

/// Reads a flag file's bytes and tells apart the ways in which that can fail.
package enum FlagFileReader {
    /// - Parameters:
    ///   - kind: The file's name in errors.
    ///   - onOpen: Called with the file's descriptor before anything is read.
    package static func read(
        path: String,
        kind: SourceText.Kind = .flags,
        onOpen: (Int32) -> Void = { _ in }
    ) throws(FlagError) -> [UInt8] {
        let kind = kind.name
        let location = FlagError.Location(file: path)
        guard !path.utf8.contains(0) else {
            throw FlagError(.fileNotFound, "the path holds a NUL byte; no file can have such a name", at: location)
        }
        // O_NONBLOCK: opening a pipe without a writer would wait forever.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw openError(errno, kind, location) }
        defer { close(descriptor) }
        onOpen(descriptor)
        try requireRegularFile(descriptor, kind, location)
        return try readAll(descriptor, kind, location)
    }

    package static func tooLarge(_ location: FlagError.Location, _ kind: String = SourceText.Kind.flags.name)
        -> FlagError
    {
        FlagError(
            .fileTooLarge,
            "the \(kind) is larger than \(FlagLimits.fileSizeBytes) bytes; split it or shorten its lists",
            at: location
        )
    }

    private static func openError(_ number: Int32, _ kind: String, _ location: FlagError.Location) -> FlagError {
        switch number {
        case ENOENT, ENOTDIR:
            return FlagError(.fileNotFound, "there is no \(kind) at this path", at: location)
        default:
            return FlagError(
                .fileUnreadable,
                "the \(kind) cannot be opened: \(String(cString: strerror(number)))",
                at: location
            )
        }
    }

    private static func requireRegularFile(
        _ descriptor: Int32,
        _ kind: String,
        _ location: FlagError.Location
    ) throws(FlagError) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else {
            throw FlagError(
                .fileUnreadable,
                "the \(kind) cannot be examined: \(String(cString: strerror(errno)))",
                at: location
            )
        }
        let type = status.st_mode & S_IFMT
        guard type == S_IFREG else {
            let what = type == S_IFDIR ? "a directory" : "neither a file nor a link to one"
            throw FlagError(.notAFile, "the path is \(what); name the \(kind) itself", at: location)
        }
        guard Int64(status.st_size) <= Int64(FlagLimits.fileSizeBytes) else { throw tooLarge(location, kind) }
    }

    /// The size that `fstat` gave is not relied on: the file may grow while it is read.
    private static func readAll(
        _ descriptor: Int32,
        _ kind: String,
        _ location: FlagError.Location
    ) throws(FlagError) -> [UInt8] {
        var content: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = chunk.withUnsafeMutableBytes { buffer in
                Foundation.read(descriptor, buffer.baseAddress, buffer.count)
            }
            if count == 0 { return content }
            if count < 0 {
                let number = errno
                if number == EINTR { continue }
                throw FlagError(
                    .fileUnreadable,
                    "the \(kind) cannot be read: \(String(cString: strerror(number)))",
                    at: location
                )
            }
            content.append(contentsOf: chunk[..<count])
            guard content.count <= FlagLimits.fileSizeBytes else { throw tooLarge(location, kind) }
        }
    }
}

/// Names the bytes of a flag file. It guards no secret.
package enum FileDigest {
    /// The SHA-256 digest in hexadecimal digits, as `sha256sum` prints it.
    package static func hexadecimal(of bytes: [UInt8]) -> String {
        SHA256.hash(data: bytes).hexadecimal
    }
}
