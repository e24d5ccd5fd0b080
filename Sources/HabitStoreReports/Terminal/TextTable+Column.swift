extension TextTable {
    /// A column of a table.
    public struct Column: Hashable, Sendable {
        /// What stands above the column; may be empty.
        public var title: String
        /// The side to which its cells are moved.
        public var alignment: TerminalText.Alignment
        /// The greatest width; longer cells are cut. Nil for no limit.
        public var maximumWidth: Int?
        /// Whether its cells may be cut when the terminal is too narrow. False for what is useless when cut, as an
        /// identifier is.
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
