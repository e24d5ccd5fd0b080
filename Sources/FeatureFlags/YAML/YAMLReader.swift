import Foundation
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
        return try DeepStack.run { () throws(FlagError) -> JSONNode in
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
