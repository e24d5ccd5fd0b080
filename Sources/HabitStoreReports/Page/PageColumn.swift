/// A column of a table on a page.
struct PageColumn {
    let title: String
    var className = ""

    static func text(_ title: String) -> PageColumn { PageColumn(title: title) }

    /// Aligned to the right.
    static func number(_ title: String) -> PageColumn { PageColumn(title: title, className: "number") }

    /// Values in a monospaced font.
    static func value(_ title: String) -> PageColumn { PageColumn(title: title, className: "value") }
}
