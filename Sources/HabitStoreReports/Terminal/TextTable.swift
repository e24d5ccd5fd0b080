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
