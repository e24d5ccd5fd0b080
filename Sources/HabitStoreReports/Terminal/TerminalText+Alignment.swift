extension TerminalText {
    /// The side of a column on which a text is aligned.
    public enum Alignment: Hashable, Sendable {
        /// The text begins in the first column.
        case left
        /// The text ends in the last column.
        case right
    }
}
