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
