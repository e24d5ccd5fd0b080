import DurableFiles
import Foundation
import JSONText
import Synchronization

/// A file whose existence is a signal, and which therefore cannot be malformed.
///
/// Anything at the path counts: a file of any content, a directory, a link that leads nowhere. What cannot be looked at,
/// such as a path in a directory that may not be searched, counts too: it is safer to be switched off in error.
public final class SentinelFile: Sendable {
    /// The path.
    public let path: String
    private let present: Atomic<Bool>

    /// Checks the path immediately.
    ///
    /// - Throws: A ``FlagError`` for a path that no file can have: an empty one, or one with a NUL byte.
    public init(path: String) throws(FlagError) {
        guard !path.isEmpty, !path.utf8.contains(0) else {
            throw FlagError(.general, "the path of the sentinel file is empty or holds a NUL byte; name a file")
        }
        self.path = path
        present = Atomic(!Self.fingerprint(path).isMissing)
    }

    /// Whether the file was there when it was looked for last. Costs no system call.
    public var isPresent: Bool { present.load(ordering: .acquiring) }

    /// Looks at the path again.
    ///
    /// - Returns: Whether that changed ``isPresent``.
    @discardableResult
    public func check() -> Bool { update(to: Self.fingerprint(path)) }

    /// Takes over the state that was seen at the path.
    ///
    /// - Returns: Whether that changed ``isPresent``.
    func update(to seen: FileFingerprint) -> Bool {
        present.exchange(!seen.isMissing, ordering: .acquiringAndReleasing) == seen.isMissing
    }

    /// The current state of the path; a link at its end is not followed.
    static func fingerprint(_ path: String) -> FileFingerprint { FileFingerprint(path, followsLinks: false) }
}

extension SentinelFile {
    /// Makes the file, for its owner only, and brings it to the disk: who looks for it need not open it. One that is there already, whatever it is, is as good.
    ///
    /// - Returns: Whether the file is new.
    /// - Throws: A ``FlagError`` where it cannot be made.
    @discardableResult
    public func create() throws(FlagError) -> Bool {
        defer { check() }
        do {
            return try MarkerFile.make(path, "The kill switch is pulled while this file exists.\n")
        } catch {
            // The existence is the signal, which all processes see from now on, whatever the disk says.
            guard error.step == .make else { return true }
            throw FlagError(error, "the sentinel file \(error)")
        }
    }

    /// Removes what is at the path, and brings that to the disk. A folder is removed when it is empty.
    ///
    /// - Returns: Whether there was anything.
    /// - Throws: A ``FlagError`` where it cannot be removed.
    @discardableResult
    public func remove() throws(FlagError) -> Bool {
        defer { check() }
        do {
            return try DurableFile.remove(path)
        } catch {
            // After a power cut the kill may come back, which errs on the safe side.
            guard error.step == .remove else { return true }
            throw FlagError(error, "the sentinel file \(error)")
        }
    }
}

/// The two independent ways to pull a kill switch.
public struct KillSwitchTriggers: Sendable, Equatable {
    /// A flag that kills where its value is `true`; nil for none. It may have targeting.
    public var flagKey: String?
    /// The path of a ``SentinelFile``; nil for none.
    public var sentinelPath: String?

    /// Names the triggers.
    public init(flagKey: String? = nil, sentinelPath: String? = nil) {
        self.flagKey = flagKey
        self.sentinelPath = sentinelPath
    }
}

/// What pulled the kill switch.
public enum KillSignal: Sendable, Equatable, CustomStringConvertible {
    /// The sentinel file is there.
    case sentinel(path: String)
    /// The flag is `true`.
    case flag(key: String, variant: String)

    /// One line for logs and reports.
    public var description: String {
        switch self {
        case .sentinel(let path): "the sentinel file \(path) is there"
        case .flag(let key, let variant): "the flag \(key) is true (variant \(variant))"
        }
    }
}

/// Kill flags in a file that cannot be read as a whole.
///
/// A file may be cut off, or have a mistake far away from the kill flag that was just set. The flag is honoured nevertheless by this rule:
///
/// - It is one of ``FlagConfiguration/killFlags``, its key is written plainly (without escapes), and its definition can be read in full: in
///   JSON, the object from its opening to its closing brace, also as an element of a list with `"key"`; in YAML, the lines of its block followed by
///   a line of less indentation, so that nothing was cut off.
/// - The definition has no error, all its variants are booleans, and the `$evaluators` that it refers to can be read in full, too. Of several
///   definitions the last counts, as in an intact file.
/// - It counts only if it gives `true`. Otherwise the flag keeps its earlier value: a damaged file can kill, and can never end a kill,
///   neither one of the last good file nor one of a damaged file after it.
///
/// Inside a JSON string every quote is escaped, so a definition in a description is not taken for one.
package struct DamagedFile {
    private let source: SourceText
    private let configuration: FlagConfiguration
    /// How many bytes may still be read in search of definitions. A file can be made in which every byte begins
    /// something that is read to the end of the file in vain.
    private var remainingBytes: Int

    /// Nil if there is nothing to search: no kill flags, or a file that is not text.
    package init?(bytes: [UInt8], name: String, configuration: FlagConfiguration) {
        guard !configuration.killFlags.isEmpty, let source = SourceText(damaged: bytes, name: name) else { return nil }
        self.source = source
        self.configuration = configuration
        remainingBytes = (1 << 20) + 2 * bytes.count
    }

    /// The kill flags that can be read in full, by key.
    mutating func killFlags(_ format: FlagFormat) -> [String: CompiledFlag] {
        let budget = remainingBytes
        defer { WorkMeter.current?.add(budget - remainingBytes) }
        var flags: [String: CompiledFlag] = [:]
        for key in configuration.killFlags {
            let definition =
                switch format {
                case .json: jsonObject(named: key) ?? jsonElement(withKey: key)
                case .yaml: yamlBlock(named: key)
                }
            guard let (node, source) = definition else { continue }
            flags[key] = compile(key, node, source)
        }
        return flags
    }

    /// The keys of the kill flags that can be read in full.
    package mutating func killFlagKeys(_ format: FlagFormat) -> [String] { killFlags(format).keys.sorted() }

    private mutating func compile(_ key: String, _ node: JSONNode, _ source: SourceText) -> CompiledFlag? {
        guard case .object(let variants)? = node.member("variants")?.value.value,
            variants.allSatisfy({ $0.value.typeName == "boolean" })
        else { return nil }
        var compiler = FlagCompiler(
            source: source,
            configuration: configuration,
            evaluators: SharedEvaluators(
                source: source,
                configuration: configuration,
                nodes: jsonObject(named: "$evaluators")?.node.membersByName ?? [:],
                refusesConstantBuckets: true
            ),
            flagSetMetadata: [:],
            warnings: FlagWarningList()
        )
        let (flag, error) = compiler.compile(key, node, keyRange: node.range)
        return error == nil ? flag : nil
    }
}

extension DamagedFile {
    private typealias Definition = (node: JSONNode, source: SourceText)

    /// The last complete object after `"name":`.
    private mutating func jsonObject(named name: String) -> Definition? {
        for end in occurrences(of: Array("\"\(name)\"".utf8)).reversed() {
            guard let start = valueStart(behindKeyEndingAt: end), source.bytes[start] == UInt8(ascii: "{") else {
                continue
            }
            if let node = value(at: start) { return (node, source) }
        }
        return nil
    }

    /// The last whole object that has the member `"key": "name"`. Its opening brace is searched backwards.
    private mutating func jsonElement(withKey name: String) -> Definition? {
        for end in occurrences(of: Array("\"key\"".utf8)).reversed().prefix(Self.triedElements) {
            guard let start = valueStart(behindKeyEndingAt: end),
                source.bytes[start...].starts(with: "\"\(name)\"".utf8)
            else { continue }
            var braces = 0
            for brace in source.bytes[..<end].indices.reversed() where source.bytes[brace] == UInt8(ascii: "{") {
                if let node = value(at: brace), node.range.upperBound > end {
                    if case .string(name)? = node.member("key")?.value.value { return (node, source) }
                    break
                }
                braces += 1
                if braces == Self.triedBraces { break }
            }
        }
        return nil
    }

    private mutating func value(at start: Int) -> JSONNode? {
        guard remainingBytes > 0 else { return nil }
        let (node, readBytes) = source.json(at: start)
        remainingBytes -= readBytes
        return node
    }

    private static var triedElements: Int { 1000 }
    private static var triedBraces: Int { 64 }
    /// How many times longer YAML takes to read than JSON.
    private static var yamlCost: Int { 16 }

    /// Where the value begins whose key ends at an offset; nil where no colon and no value follow.
    private func valueStart(behindKeyEndingAt end: Int) -> Int? {
        let isSpace: (UInt8) -> Bool = { $0 == 0x20 || $0 == 0x09 || $0 == 0x0A || $0 == 0x0D }
        guard let colon = source.bytes[end...].firstIndex(where: { !isSpace($0) }),
            source.bytes[colon] == UInt8(ascii: ":")
        else { return nil }
        return source.bytes[(colon + 1)...].firstIndex { !isSpace($0) }
    }

    /// Behind which offsets the bytes stand.
    private func occurrences(of part: [UInt8]) -> [Int] {
        var ends: [Int] = []
        guard let first = part.first, part.count <= source.bytes.count else { return ends }
        source.bytes.withUnsafeBufferPointer { bytes in
            for start in 0...(bytes.count - part.count) where bytes[start] == first {
                if bytes[start...].starts(with: part) { ends.append(start + part.count) }
            }
        }
        return ends
    }

    /// The last block of lines after `name:` that is ended by a line of less or equal indentation.
    private mutating func yamlBlock(named name: String) -> Definition? {
        let lines = source.bytes.split(omittingEmptySubsequences: false) { $0 == 0x0A || $0 == 0x0D }
        let keys = [name, "\"\(name)\"", "'\(name)'"].map { Array($0.utf8) }
        for (index, line) in lines.enumerated().reversed() {
            let indentation = line.prefix { $0 == 0x20 }.count
            let content = line.dropFirst(indentation)
            guard let key = keys.first(where: { content.starts(with: $0) }),
                content.dropFirst(key.count).first == UInt8(ascii: ":")
            else { continue }
            let rest = lines[(index + 1)...]
            let isEnd: (ArraySlice<UInt8>) -> Bool = { line in
                let own = line.prefix { $0 == 0x20 }.count
                guard let first = line.dropFirst(own).first else { return false }
                return own <= indentation && first != UInt8(ascii: "#")
            }
            guard let end = rest.firstIndex(where: isEnd) else { continue }
            let block = Array(lines[index..<end].joined(separator: [0x0A]))
            remainingBytes -= Self.yamlCost * block.count
            guard remainingBytes > 0 else { return nil }
            guard let text = SourceText(damaged: block, name: source.name) else { continue }
            do throws(FlagError) {
                if let member = try YAMLReader.parse(text).member(name) { return (member.value, text) }
            } catch { continue }
        }
        return nil
    }
}
