import FeatureFlags
import JSONText

/// Changes a flag file's bytes without touching any others.
struct FlagFileRewriter {
    private typealias Replacement = (range: Range<Int>, text: String)

    let document: FlagDocument

    /// The new bytes. They are parsed and compared with the intended result; if they differ, as for a duplicate name, the change is refused.
    ///
    /// - Throws: A ``FlagError`` with ``FlagError/Code/editRefused``.
    func apply(_ edits: [FlagFileEdit]) throws(FlagError) -> [UInt8] {
        var replacements: [Replacement] = []
        var expected = document.root.flagValue
        for edit in edits {
            replacements.append(try replacement(edit))
            expected = try Self.applying(edit, edit.path[...], to: expected)
        }
        let ordered = replacements.enumerated().sorted {
            ($0.element.range.lowerBound, $0.offset) < ($1.element.range.lowerBound, $1.offset)
        }
        var bytes: [UInt8] = document.source.hadByteOrderMark ? [0xEF, 0xBB, 0xBF] : []
        var position = 0
        for (_, replacement) in ordered {
            guard replacement.range.lowerBound >= position else {
                throw refusal("two changes meet in one place", at: position)
            }
            bytes += document.source.bytes[position..<replacement.range.lowerBound]
            bytes += Array(replacement.text.utf8)
            position = replacement.range.upperBound
        }
        bytes += document.source.bytes[position...]
        let changed = try FlagDocument(bytes: bytes, format: document.format, name: document.source.name)
        guard changed.root.flagValue == expected else {
            throw refusal(
                "the change would touch more than it should; edit the file by hand",
                at: ordered.first?.element.range.lowerBound ?? 0
            )
        }
        return bytes
    }

    private func replacement(_ edit: FlagFileEdit) throws(FlagError) -> Replacement {
        guard let node = document.node(at: edit.path) else { throw refusal("the place to change is not there", at: 0) }
        switch (edit.change, document.format) {
        case (.replace(let text), .json):
            return (node.range, text)
        case (.replace(let text), .yaml):
            return try yamlReplacement(node, text)
        case (.insert(let key, let text), .json):
            return try insertion(into: node, "\(JSON.quoted(key)): \(text)")
        case (.remove, .json):
            return try removal(edit.path)
        case (.insert, .yaml), (.remove, .yaml):
            throw yamlRefusal(node)
        }
    }

    /// Inserts after the last member, with the same layout.
    private func insertion(into node: JSONNode, _ text: String) throws(FlagError) -> Replacement {
        guard case .object(let members) = node.value else {
            throw refusal("this is not an object", at: node.range.lowerBound)
        }
        // For duplicate members, the parser keeps the position of the first and the value of the last.
        guard let last = members.max(by: { $0.value.range.upperBound < $1.value.range.upperBound }) else {
            let start = node.range.lowerBound + 1
            return (start..<start, text)
        }
        let end = last.value.range.upperBound
        return (end..<end, "," + space(before: last.keyRange.lowerBound) + text)
    }

    private func removal(_ path: [FlagDocument.Step]) throws(FlagError) -> Replacement {
        guard case .member(let name)? = path.last, let parent = document.node(at: Array(path.dropLast())),
            case .object(let members) = parent.value, let member = parent.member(name)
        else { throw refusal("only a member of an object can be removed", at: 0) }
        let end = member.value.range.upperBound
        let earlier = members.map(\.value.range.upperBound).filter { $0 < member.keyRange.lowerBound }
        if let before = earlier.max() { return (before..<end, "") }
        let later = members.map(\.keyRange.lowerBound).filter { $0 >= end }
        return (member.keyRange.lowerBound..<(later.min() ?? end), "")
    }

    /// The whitespace before a byte.
    private func space(before offset: Int) -> String {
        let bytes = document.source.bytes[..<offset]
        let space = bytes.reversed().prefix { $0 == 0x20 || $0 == 0x09 || $0 == 0x0A || $0 == 0x0D }
        return space.isEmpty ? " " : String(decoding: space.reversed(), as: UTF8.self)
    }

    private func refusal(_ message: String, at offset: Int) -> FlagError {
        FlagError(.editRefused, message, at: document.source.location(at: offset))
    }

    private func yamlRefusal(_ node: JSONNode) -> FlagError {
        refusal(
            "this change to a YAML file cannot be made in place; edit it by hand, or keep the flags as JSON",
            at: node.range.lowerBound
        )
    }
}

extension FlagFileRewriter {
    /// Replaces a scalar on one line: plain, or in quotes without escapes. Its text must equal the value that was parsed.
    private func yamlReplacement(_ node: JSONNode, _ text: String) throws(FlagError) -> Replacement {
        let bytes = document.source.bytes
        let start = node.range.lowerBound
        guard start < bytes.count else { throw yamlRefusal(node) }
        let line = bytes[start...].prefix { $0 != 0x0A && $0 != 0x0D }
        let quote = bytes[start]
        var end: Int
        if quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") {
            guard let closing = line.dropFirst().firstIndex(of: quote) else { throw yamlRefusal(node) }
            end = closing + 1
            guard !line[..<closing].contains(UInt8(ascii: "\\")) else { throw yamlRefusal(node) }
        } else {
            end =
                line.firstIndex { $0 == UInt8(ascii: ",") || $0 == UInt8(ascii: "]") || $0 == UInt8(ascii: "}") }
                ?? line.endIndex
            if let comment = line[..<end].firstIndex(of: UInt8(ascii: "#")) { end = comment }
            while end > start, bytes[end - 1] == 0x20 || bytes[end - 1] == 0x09 { end -= 1 }
        }
        switch node.value {
        case .string(let value):
            let isQuoted = quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'")
            let written = String(
                decoding: isQuoted ? bytes[(start + 1)..<(end - 1)] : bytes[start..<end],
                as: UTF8.self
            )
            guard written == value else { throw yamlRefusal(node) }
            if !isQuoted { return (start..<end, Self.plainWord(text) ?? text) }
        case .int(let value):
            guard String(decoding: bytes[start..<end], as: UTF8.self) == String(value) else { throw yamlRefusal(node) }
        default:
            throw yamlRefusal(node)
        }
        return (start..<end, text)
    }

    /// A quoted text as a plain YAML word; nil if YAML would read that as something else.
    private static func plainWord(_ text: String) -> String? {
        let word = text.dropFirst().dropLast()
        let isWord = word.utf8.allSatisfy { byte in
            (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20) || byte == UInt8(ascii: "-")
                || byte == UInt8(ascii: "_")
        }
        let isReserved = ["null", "true", "false", "yes", "no", "on", "off", "y", "n"].contains(word.lowercased())
        return text.hasPrefix("\"") && isWord && !isReserved && word.first?.isLetter == true ? String(word) : nil
    }

    /// The value after an edit.
    private static func applying(
        _ edit: FlagFileEdit,
        _ path: ArraySlice<FlagDocument.Step>,
        to value: FlagValue
    ) throws(FlagError) -> FlagValue {
        guard let step = path.first else {
            switch edit.change {
            case .replace(let text): return try FlagValue(json: text)
            case .insert(let key, let text):
                var members = value.objectValue ?? [:]
                members[key] = try FlagValue(json: text)
                return .object(members)
            case .remove: return value
            }
        }
        let isRemoved: Bool
        if case .remove = edit.change { isRemoved = path.count == 1 } else { isRemoved = false }
        switch (step, value) {
        case (.member(let name), .object(var members)):
            // Assigning nil would store a null value.
            guard !isRemoved else {
                members.removeValue(forKey: name)
                return .object(members)
            }
            members[name] = try applying(edit, path.dropFirst(), to: members[name] ?? .null)
            return .object(members)
        case (.element(let index), .list(var elements)) where elements.indices.contains(index):
            elements[index] = try applying(edit, path.dropFirst(), to: elements[index])
            return .list(elements)
        default:
            return value
        }
    }
}

/// A textual change at one place in a flag file.
struct FlagFileEdit {
    enum Change {
        /// Replaces the value with this JSON.
        case replace(String)
        /// Adds a member to the object, with this JSON as its value.
        case insert(key: String, String)
        /// Removes the member or element.
        case remove
    }

    let path: [FlagDocument.Step]
    let change: Change

    init(_ path: [FlagDocument.Step], _ change: Change) {
        self.path = path
        self.change = change
    }
}

/// A list whose elements can change while its layout stays.
struct JSONListText {
    private var leading = ""
    private var separator = ", "
    private var trailing = ""
    /// The elements as text.
    var elements: [String] = []

    init(document: FlagDocument, node: JSONNode) {
        guard case .array(let nodes) = node.value else { return }
        elements = nodes.map { document.text(of: $0) }
        guard let first = nodes.first, let last = nodes.last else { return }
        func text(_ range: Range<Int>) -> String { String(decoding: document.source.bytes[range], as: UTF8.self) }
        leading = text((node.range.lowerBound + 1)..<first.range.lowerBound)
        trailing = text(last.range.upperBound..<(node.range.upperBound - 1))
        if nodes.count > 1 {
            separator = text(first.range.upperBound..<nodes[1].range.lowerBound)
        } else if leading.contains("\n") {
            separator = "," + leading
        }
    }

    var text: String { "[" + leading + elements.joined(separator: separator) + trailing + "]" }
}

extension FlagValue {
    /// The value of a JSON text.
    fileprivate init(json text: String) throws(FlagError) {
        var warnings = FlagWarningList()
        let source = try SourceText(bytes: Array(text.utf8), name: "value")
        let node = try source.json(warnings: &warnings)
        if let number = node.unusableNumber {
            throw FlagError(
                .parseError,
                JSONNode.unusableNumberMessage,
                at: source.location(at: number.range.lowerBound)
            )
        }
        self = node.flagValue
    }
}
