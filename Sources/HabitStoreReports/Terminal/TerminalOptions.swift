/// What the terminal that a text is meant for can show.
public struct TerminalOptions: Hashable, Sendable {
    /// The width of the terminal; nil for no limit, as in a file. A width below 1 is taken for 1.
    public var columns: Int? {
        didSet { columns = columns.map { max(1, $0) } }
    }
    /// Whether to draw with ASCII only. A person's own text stays as it is.
    public var isASCII: Bool
    /// Whether to use ANSI colours.
    public var usesColor: Bool

    /// Describes a terminal.
    public init(columns: Int? = nil, isASCII: Bool = false, usesColor: Bool = false) {
        self.columns = columns.map { max(1, $0) }
        self.isASCII = isASCII
        self.usesColor = usesColor
    }

    /// What stands for the rest of a text that was cut.
    public var ellipsis: String { isASCII ? "..." : "…" }
}
