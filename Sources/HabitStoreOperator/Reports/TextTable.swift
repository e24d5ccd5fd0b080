/// Rows of text in columns that are aligned by their width on a terminal.
///
/// Every cell is escaped (``TerminalText/escaped(_:)``), so that a row is one line and no cell can control the terminal. Columns are as wide as their
/// widest cell. If the table is wider than the terminal, the widest columns that may shrink are narrowed first, and their long cells end in an
/// ellipsis. Lines that are still too long are cut. Lines have no trailing spaces.
public struct TextTable: Sendable {
    /// The spaces between two columns.
    static let gap = 2

    private var columns: [Column]
    private var rows: [[Cell]] = []

    /// Makes an empty table.
    public init(_ columns: [Column]) {
        self.columns = columns
    }

    /// Adds a row. Missing cells are empty; additional cells get columns without a title.
    public mutating func append(_ cells: [String]) {
        while columns.count < cells.count { columns.append(Column("")) }
        rows.append(cells.map { Cell($0) })
    }

    /// The table's lines: the titles, if any column has one, and the rows.
    public func lines(_ options: TerminalOptions = TerminalOptions()) -> [String] {
        let titles = columns.map { Cell($0.title) }
        let hasTitles = titles.contains { !$0.text.isEmpty }
        let all = (hasTitles ? [titles] : []) + rows
        let widths = fittedWidths(naturalWidths(of: all), columns: options.columns)
        return all.map { line($0, widths: widths, options: options) }
    }

    /// The lines, each terminated by a line feed; empty for a table without titles and rows.
    public func text(_ options: TerminalOptions = TerminalOptions()) -> String {
        lines(options).reduce(into: "") { $0 += $1 + "\n" }
    }

    private func naturalWidths(of lines: [[Cell]]) -> [Int] {
        var widths = [Int](repeating: 0, count: columns.count)
        for line in lines {
            for (index, cell) in line.enumerated() { widths[index] = max(widths[index], cell.width) }
        }
        return zip(widths, columns).map { width, column in
            min(width, column.maximumWidth.map { max(1, $0) } ?? width)
        }
    }

    /// Narrows the widest shrinkable columns to a common width, the largest with which the table fits.
    private func fittedWidths(_ widths: [Int], columns limit: Int?) -> [Int] {
        guard let limit else { return widths }
        let total = widths.reduce(0, +) + Self.gap * max(0, widths.count - 1)
        guard total > limit else { return widths }
        let shrinkable = columns.indices.filter { columns[$0].canShrink }
        var room = limit - total + shrinkable.reduce(0) { $0 + widths[$1] }
        var fitted = widths
        // From the narrowest: a column that needs less than its even share leaves the rest to the others.
        var left = shrinkable.count
        for index in shrinkable.sorted(by: { (widths[$0], $0) < (widths[$1], $1) }) {
            fitted[index] = min(widths[index], max(1, room / left))
            room -= fitted[index]
            left -= 1
        }
        return fitted
    }

    private func line(_ cells: [Cell], widths: [Int], options: TerminalOptions) -> String {
        var result = ""
        var used = 0
        for (index, width) in widths.enumerated() {
            let cell = index < cells.count ? cells[index].fitted(to: width, ellipsis: options.ellipsis) : Cell("")
            let before = columns[index].alignment == .right ? width - cell.width : 0
            result += String(repeating: " ", count: before) + cell.text
            used += before + cell.width
            guard index < widths.count - 1 else { break }
            let after = width - before - cell.width + Self.gap
            result += String(repeating: " ", count: after)
            used += after
        }
        if let limit = options.columns, used > limit {
            result = TerminalText.truncated(result, toWidth: limit, ellipsis: options.ellipsis)
        }
        while result.unicodeScalars.last == " " { result.unicodeScalars.removeLast() }
        return result
    }
}

extension TextTable {
    /// An escaped text and its width in columns, measured once.
    struct Cell: Sendable {
        let text: String
        let width: Int

        init(_ text: String) {
            self.text = TerminalText.escaped(text)
            width = displayWidth(of: self.text)
        }

        func fitted(to limit: Int, ellipsis: String) -> Cell {
            width <= limit ? self : Cell(TerminalText.truncated(text, toWidth: limit, ellipsis: ellipsis))
        }
    }
}

extension TextTable {
    /// A column of a table.
    public struct Column: Hashable, Sendable {
        /// The column's title; may be empty.
        public var title: String
        /// The alignment of its cells.
        public var alignment: TerminalText.Alignment
        /// The maximum width; longer cells are truncated. Nil for no limit.
        public var maximumWidth: Int?
        /// Whether its cells may be truncated on a narrow terminal. False for text that is useless when truncated, such as identifiers.
        public var canShrink: Bool

        /// Describes a column.
        public init(
            _ title: String,
            alignment: TerminalText.Alignment = .left,
            maximumWidth: Int? = nil,
            canShrink: Bool = true
        ) {
            self.title = title
            self.alignment = alignment
            self.maximumWidth = maximumWidth
            self.canShrink = canShrink
        }
    }
}

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

extension TerminalText {
    /// The side of a column on which a text is aligned.
    public enum Alignment: Hashable, Sendable {
        /// The text begins in the first column.
        case left
        /// The text ends in the last column.
        case right
    }
}

/// The abilities of the terminal that a text is for.
public struct TerminalOptions: Hashable, Sendable {
    /// The width of the terminal; nil for no limit, as in a file. Widths below 1 become 1.
    public var columns: Int? {
        didSet { columns = columns.map { max(1, $0) } }
    }
    /// Whether to draw only with ASCII. A user's own text stays unchanged.
    public var isASCII: Bool
    /// Whether to use ANSI colours.
    public var usesColor: Bool

    /// Describes a terminal.
    public init(columns: Int? = nil, isASCII: Bool = false, usesColor: Bool = false) {
        self.columns = columns.map { max(1, $0) }
        self.isASCII = isASCII
        self.usesColor = usesColor
    }

    /// The replacement for the rest of a truncated text.
    public var ellipsis: String { isASCII ? "..." : "…" }
}

/// The number of terminal columns that a text occupies.
///
/// The rules are those of most terminals: 2 columns for East Asian wide and fullwidth characters, for flags and for emoji (a sequence with joiners,
/// skin tones, a variation selector, or a keycap is one emoji); none for combining marks, invisible format characters, and the vowels and final
/// consonants of a decomposed Korean syllable; and 1 for everything else, including characters of ambiguous width. Right-to-left text is as wide as
/// any other. Control characters have no width, so escape them first (``TerminalText/escaped(_:)``).
public func displayWidth(of text: String) -> Int {
    if text.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) { return text.utf8.count }
    return text.reduce(0) { $0 + displayWidth(of: $1) }
}

/// The number of terminal columns that a character occupies; see ``displayWidth(of:)-(String)``.
public func displayWidth(of character: Character) -> Int {
    let scalars = character.unicodeScalars
    guard let first = scalars.first else { return 0 }
    if scalars.count > 1, isEmojiSequence(first, scalars.dropFirst()) { return 2 }
    return scalars.reduce(0) { $0 + $1.terminalWidth }
}

/// Whether a character of several scalars is drawn as one emoji.
private func isEmojiSequence(_ first: Unicode.Scalar, _ rest: Substring.UnicodeScalarView) -> Bool {
    guard first.properties.isEmoji, !first.isRegionalIndicator else { return false }
    // Selector 16 requests the emoji form; the digits of keycaps have it, too.
    if rest.contains(where: { $0.value == 0xFE0F }) { return true }
    guard !first.isASCII else { return false }
    return first.properties.isEmojiPresentation || rest.contains { $0.properties.isEmojiPresentation }
}

extension Unicode.Scalar {
    /// Half of a flag.
    var isRegionalIndicator: Bool { (0x1F1E6...0x1F1FF).contains(value) }

    /// The columns that the scalar occupies alone.
    var terminalWidth: Int {
        if (0x20...0x7E).contains(value) { return 1 }
        switch properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator, .nonspacingMark, .enclosingMark:
            return 0
        case .format:
            return isVisibleFormat ? 1 : 0
        default:
            if isMedialOrFinalJamo { return 0 }
            return isWide ? 2 : 1
        }
    }

    /// The soft hyphen, which terminals draw, and the Arabic and Syriac signs that enclose or precede numbers.
    private var isVisibleFormat: Bool {
        switch value {
        case 0xAD, 0x600...0x605, 0x6DD, 0x70F, 0x890...0x891, 0x8E2: true
        default: false
        }
    }

    /// The parts of a decomposed Korean syllable that are drawn into the first part's two columns.
    private var isMedialOrFinalJamo: Bool {
        (0x1160...0x11FF).contains(value) || (0xD7B0...0xD7FF).contains(value)
    }

    /// Whether East_Asian_Width is Wide or Fullwidth.
    ///
    /// The ranges are those of Unicode 14, with the unassigned gaps within them filled. Emoji are wide as well; the standard library knows them, so
    /// that new ones need no change here.
    private var isWide: Bool {
        switch value {
        case 0x1100...0x115F, 0x2329...0x232A, 0x2E80...0x303E, 0x3041...0x3247, 0x3250...0x4DBF, 0x4E00...0xA4C6,
            0xA960...0xA97C, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE10...0xFE19, 0xFE30...0xFE6B, 0xFF01...0xFF60,
            0xFFE0...0xFFE6, 0x16FE0...0x1B2FB, 0x1F200...0x1F265, 0x20000...0x2FFFD, 0x30000...0x3FFFD:
            true
        default:
            properties.isEmojiPresentation && !isRegionalIndicator
        }
    }
}
