extension IgnoreRule {
    /// The place that it covers: `Entry.note, attribute`.
    public var place: String {
        let subject = [entity, attribute].compactMap { $0 }.joined(separator: ".")
        let parts = [subject.isEmpty ? nil : subject, kind?.rawValue, query.map { "query \"\($0)\"" }]
        return parts.compactMap { $0 }.joined(separator: ", ")
    }

    /// The day at whose end it expires (UTC), or the instant.
    public var expiryText: String { ExpiryDate(end: expires).text }
}
