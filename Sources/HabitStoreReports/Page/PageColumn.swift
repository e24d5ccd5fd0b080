/// A column of a table in a page.
struct PageColumn {
    let title: String
    var className = ""

    static func text(_ title: String) -> PageColumn { PageColumn(title: title) }

    /// Aligned to the right.
    static func number(_ title: String) -> PageColumn { PageColumn(title: title, className: "number") }

    /// A value as it stands, in letters of one width.
    static func value(_ title: String) -> PageColumn { PageColumn(title: title, className: "value") }
}
