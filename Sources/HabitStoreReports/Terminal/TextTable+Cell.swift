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
