extension TerminalText {
    /// The side to which a text is moved within its columns.
    public enum Alignment: Hashable, Sendable {
        /// The text begins in the first column.
        case left
        /// The text ends in the last column.
        case right
    }
}
