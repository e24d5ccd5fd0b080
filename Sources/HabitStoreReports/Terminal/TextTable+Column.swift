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
