/// Formats users' text for a terminal.
public enum TerminalText {
    /// The text with all characters escaped that control a terminal or mislead the reader.
    ///
    /// Line feed, carriage return and tab become `\n`, `\r` and `\t`. Other control characters (escape, backspace, and the C1 controls, which some
    /// terminals read as escape sequences), the line and paragraph separators, and the controls that reorder the text after them (bidirectional
    /// embeddings, overrides, isolates) become `\u{1B}` and the like. A backslash stays unchanged.
    public static func escaped(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: needsEscape) else { return text }
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\n": result += "\\n"
            case "\r": result += "\\r"
            case "\t": result += "\\t"
            case _ where needsEscape(scalar):
                result += "\\u{" + String(scalar.value, radix: 16, uppercase: true) + "}"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    /// A JSON document with these characters in their JSON form, such as `\u009B`, which every parser decodes to the characters themselves. Invisible
    /// direction marks are escaped as well.
    public static func escapedJSON(_ document: String) -> String {
        func isHidden(_ scalar: Unicode.Scalar) -> Bool {
            switch scalar.value {
            case 0x7F, 0x61C, 0x200E...0x200F: true
            case 0x80...: needsEscape(scalar)
            default: false
            }
        }
        guard document.unicodeScalars.contains(where: isHidden) else { return document }
        var result = ""
        for scalar in document.unicodeScalars {
            if isHidden(scalar) {
                let digits = String(scalar.value, radix: 16, uppercase: true)
                result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            } else {
                result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    /// The text, truncated to at most `width` columns, with the ellipsis at its end if anything was cut.
    ///
    /// Characters are never split: if the next one is wide and only one column is left, the result is one column narrower than `width`. Expects
    /// escaped text.
    public static func truncated(_ text: String, toWidth width: Int, ellipsis: String = "…") -> String {
        guard !fits(text, width: width) else { return text }
        let room = width - displayWidth(of: ellipsis)
        guard room >= 0 else { return prefix(of: ellipsis, width: width) }
        return prefix(of: text, width: room) + ellipsis
    }

    /// The text, padded with spaces to `width` columns; a wider text stays unchanged.
    public static func padded(_ text: String, toWidth width: Int, alignment: Alignment = .left) -> String {
        let padding = String(repeating: " ", count: max(0, width - displayWidth(of: text)))
        return alignment == .left ? text + padding : padding + text
    }

    private static func needsEscape(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x20...0x7E: false
        case 0...0x1F, 0x7F...0x9F, 0x2028...0x2029, 0x202A...0x202E, 0x2066...0x2069: true
        default: false
        }
    }

    /// Whether the text occupies at most `width` columns. Stops as early as possible, because a note may be very long.
    private static func fits(_ text: String, width: Int) -> Bool {
        var used = 0
        for character in text {
            used += displayWidth(of: character)
            if used > width { return false }
        }
        return true
    }

    /// As many whole characters as fit into `width` columns.
    private static func prefix(of text: String, width: Int) -> String {
        var used = 0
        var result = ""
        for character in text {
            used += displayWidth(of: character)
            if used > width { break }
            result.append(character)
        }
        return result
    }
}
