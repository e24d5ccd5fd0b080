import Foundation
import JSONText
import Yams

/// Reads YAML into the same nodes as JSON, so that all later steps are the same for both.
///
/// Scalars are read by the core schema of YAML 1.2, as in flagd: `yes` and `on` are texts. Merge keys (`<<`) and aliases are
/// followed, up to the limits of ``FlagLimits``.
package enum YAMLReader {
    package static func parse(_ source: SourceText) throws(FlagError) -> JSONNode {
        guard source.bytes.count <= FlagLimits.yamlSizeBytes else {
            throw FlagError(
                .fileTooLarge,
                "the \(source.kind.name) is larger than \(FlagLimits.yamlSizeBytes) bytes; write it as JSON",
                at: FlagError.Location(file: source.name)
            )
        }
        if let offset = tooManyAliases(in: source.bytes) {
            throw FlagError(
                .parseError,
                "the file has more than \(FlagLimits.yamlAliases) aliases; use \"$evaluators\" for shared rules",
                at: source.location(at: offset)
            )
        }
        // The parser calls itself for each level, up to a thousand, and the caller's stack may be small.
        let meter = WorkMeter.current
        meter?.add(source.bytes.count)
        return try LargeStack.run { () throws(FlagError) -> JSONNode in
            guard let root = try compose(source) else {
                throw FlagError(
                    .parseError,
                    "the file is empty; a \(source.kind.name) holds at least \(source.kind.least)",
                    at: source.start
                )
            }
            var converter = YAMLConverter(source)
            defer { meter?.add(converter.values) }
            return try converter.convert(root, depth: 0)
        }
    }

    private static func compose(_ source: SourceText) throws(FlagError) -> Node? {
        do {
            let text = String(decoding: source.bytes, as: UTF8.self)
            return try Parser(yaml: text, resolver: .basic, constructor: .default, encoding: .utf8).singleRoot()
        } catch let error as YamlError {
            throw flagError(error, source)
        } catch {
            throw FlagError(.parseError, "the file is not YAML", at: source.start)
        }
    }

    private static func flagError(_ error: YamlError, _ source: SourceText) -> FlagError {
        func located(_ message: String, _ mark: Mark) -> FlagError {
            let offset = source.offset(line: mark.line, column: mark.column)
            return FlagError(.parseError, message, at: source.location(at: offset))
        }
        switch error {
        case .scanner(_, let problem, let mark, _), .parser(_, let problem, let mark, _),
            .composer(_, let problem, let mark, _):
            // libyaml speaks to programmers there.
            guard !problem.lowercased().contains("nesting") else {
                return located(
                    "lists and mappings stand too deep here; at most \(FlagLimits.jsonDepth) may stand in each other",
                    mark
                )
            }
            guard !problem.contains("yaml_") else { return located("the file is not YAML here", mark) }
            return located("the file is not YAML: \(problem)", mark)
        case .duplicatedKeysInMapping(let duplicates, let context):
            let keys = duplicates.map { quoted($0) }.joined(separator: ", ")
            return located("a mapping has a key twice: \(keys)", context.mark)
        case .reader(let problem, let offset, _, _):
            return FlagError(.parseError, "the file is not YAML: \(problem)", at: source.location(at: offset ?? 0))
        default:
            return FlagError(.parseError, "the file is not YAML", at: source.start)
        }
    }

    /// Where the first alias too many stands. A `*` within a text may be counted as one: the limit is far above what
    /// a flag file needs.
    private static func tooManyAliases(in bytes: [UInt8]) -> Int? {
        var count = 0
        var before = UInt8(ascii: "\n")
        for (offset, byte) in bytes.enumerated() {
            if byte == UInt8(ascii: "*"), " \t\r\n[{,:-?".utf8.contains(before) {
                let next = offset + 1 < bytes.count ? bytes[offset + 1] : 0x20
                if next > 0x20 { count += 1 }
                if count > FlagLimits.yamlAliases { return offset }
            }
            before = byte
        }
        return nil
    }
}

extension SourceText {
    fileprivate var start: FlagError.Location { location(at: 0) }
}

/// Turns Yams' nodes into JSON's, with their places.
struct YAMLConverter {
    private let source: SourceText
    private(set) var values = 0
    /// A value takes at least two bytes. More values than that come from aliases and merge keys. Counting those alone is not
    /// enough, because each may repeat what earlier ones have repeated.
    private let maximumValues: Int
    /// Where each place is. An alias leads to the same places again and again.
    private var offsets: [Place: Int] = [:]

    private struct Place: Hashable {
        let line: Int
        let column: Int
    }

    init(_ source: SourceText) {
        self.source = source
        maximumValues = min(FlagLimits.jsonValues, source.bytes.count / 2 + FlagLimits.yamlRepeatedValues)
    }

    mutating func convert(_ node: Node, depth: Int) throws(FlagError) -> JSONNode {
        let offset = offset(of: node)
        try count(1, offset)
        guard depth <= FlagLimits.jsonDepth else {
            throw error("arrays and objects stand more than \(FlagLimits.jsonDepth) deep here", offset)
        }
        let range = offset..<min(offset + 1, source.bytes.count)
        switch node {
        case .scalar(let scalar):
            return JSONNode(value: value(of: scalar), range: range)
        case .sequence(let sequence):
            var elements: [JSONNode] = []
            for element in sequence { elements.append(try convert(element, depth: depth + 1)) }
            return JSONNode(value: .array(elements), range: range)
        case .mapping(let mapping):
            return JSONNode(value: .object(try members(of: mapping, depth: depth)), range: range)
        case .alias:
            throw error("this alias refers to nothing", offset)
        }
    }

    private mutating func count(_ number: Int, _ offset: Int) throws(FlagError) {
        values += number
        guard values <= FlagLimits.jsonValues else {
            throw error("the file has more than \(FlagLimits.jsonValues) values", offset)
        }
        guard values <= maximumValues else {
            throw error(
                "aliases and merge keys repeat more than \(FlagLimits.yamlRepeatedValues) values; use \"$evaluators\" for "
                    + "shared rules",
                offset
            )
        }
    }

    private mutating func members(of mapping: Node.Mapping, depth: Int) throws(FlagError) -> [JSONMember] {
        var members: [JSONMember] = []
        var merged: [JSONMember] = []
        for (keyNode, valueNode) in mapping {
            let keyOffset = offset(of: keyNode)
            guard case .scalar(let scalar) = keyNode else { throw error("a key must be a text", keyOffset) }
            let value = try convert(valueNode, depth: depth + 1)
            if scalar.string == "<<", scalar.style == .plain {
                merged += try mergedMembers(value, keyOffset)
            } else {
                let range = keyOffset..<min(keyOffset + 1, source.bytes.count)
                members.append(JSONMember(key: scalar.string, keyRange: range, value: value))
            }
        }
        guard !merged.isEmpty else { return members }
        // Members of the mapping itself take precedence, and then the first of the merged ones.
        var known = Set(members.map(\.key))
        for member in merged where known.insert(member.key).inserted { members.append(member) }
        return members
    }

    private mutating func mergedMembers(_ value: JSONNode, _ offset: Int) throws(FlagError) -> [JSONMember] {
        let sources: [JSONNode] = if case .array(let elements) = value.value { elements } else { [value] }
        var members: [JSONMember] = []
        for source in sources {
            guard case .object(let merged) = source.value else {
                throw error("\"<<\" must be followed by a mapping, or a list of mappings", offset)
            }
            try count(merged.count, offset)
            members += merged
        }
        return members
    }

    private func value(of scalar: Node.Scalar) -> JSONNode.Value {
        let isText = scalar.style != .plain || scalar.tag == Tag(.str)
        if isText { return .string(scalar.string) }
        switch scalar.string {
        case "", "~", "null", "Null", "NULL": return .null
        case "true", "True", "TRUE": return .bool(true)
        case "false", "False", "FALSE": return .bool(false)
        default: return number(scalar.string) ?? .string(scalar.string)
        }
    }

    /// A number of the core schema: `[-+]?[0-9]+`, `0o17`, `0x1F`, or a decimal with a point or an exponent.
    private func number(_ text: String) -> JSONNode.Value? {
        guard let first = text.utf8.first, first < 0x3A, text.utf8.count <= FlagLimits.numberLengthBytes else {
            return nil
        }
        for (prefix, radix) in [("0x", 16), ("0o", 8)] where text.hasPrefix(prefix) {
            let digits = text.dropFirst(2)
            guard digits.allSatisfy({ $0.hexDigitValue ?? radix < radix }) else { return nil }
            return Int64(digits, radix: radix).map { .int($0) }
        }
        let unsigned = text.utf8.drop { $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "+") }
        guard text.utf8.count - unsigned.count <= 1 else { return nil }
        if [".inf", ".Inf", ".INF", ".nan", ".NaN", ".NAN"].contains(where: { unsigned.elementsEqual($0.utf8) }) {
            return .double(.nan)
        }
        // A remaining letter after a zero is JavaScript's `0b`, `0X` and so on.
        if unsigned.first == UInt8(ascii: "0"), let second = unsigned.dropFirst().first,
            second | 0x20 != UInt8(ascii: "e"),
            second > 0x3A
        {
            return nil
        }
        // The grammar of JavaScript's numbers is that of the core schema where neither white space nor a prefix is left.
        guard let next = unsigned.first, next < 0x3A, let last = text.utf8.last, last > 0x20, last < 0x3A else {
            return nil
        }
        switch JavaScriptNumber(parsing: text) {
        case .int(let value): return .int(value)
        case .double(let value): return .double(value)
        case nil: return nil
        }
    }

    private mutating func offset(of node: Node) -> Int {
        guard let mark = node.mark else { return 0 }
        let place = Place(line: mark.line, column: mark.column)
        if let known = offsets[place] { return known }
        let offset = source.offset(line: mark.line, column: mark.column)
        offsets[place] = offset
        return offset
    }

    private func error(_ message: String, _ offset: Int) -> FlagError {
        FlagError(.parseError, message, at: source.location(at: offset))
    }
}

/// Runs work that calls itself deeply on a thread with a stack of a known size.
enum LargeStack {
    private static let stackSizeBytes = 16 << 20

    /// The work's result goes from its thread to the caller once, with the semaphore between them.
    private final class Box<Value>: @unchecked Sendable {
        var result: Result<Value, FlagError>?
    }

    static func run<Value: Sendable>(_ work: @escaping @Sendable () throws(FlagError) -> Value) throws(FlagError)
        -> Value
    {
        let box = Box<Value>()
        let finished = DispatchSemaphore(value: 0)
        let thread = Thread {
            do throws(FlagError) { box.result = .success(try work()) } catch { box.result = .failure(error) }
            finished.signal()
        }
        thread.stackSize = stackSizeBytes
        thread.start()
        finished.wait()
        guard let result = box.result else { throw FlagError(.general, "the file was not read; try again") }
        return try result.get()
    }
}
