extension MetricDescription {
    /// The list as a Markdown table, for the article *Metrics*.
    package static func table(_ origin: Origin) -> String {
        let rows = all.filter { $0.origin == origin }.map { metric in
            let labels = metric.labels.map { "`\($0)`" }.joined(separator: ", ")
            return "| `\(metric.name)` | \(metric.kind.rawValue) | \(labels) | \(metric.help) |"
        }
        return (["| name | kind | labels | what it says |", "|---|---|---|---|"] + rows).joined(separator: "\n")
    }
}
