extension Decoder {
    /// Refuses an object with a key that does not exist: a misspelt one would otherwise do nothing, unseen.
    ///
    /// - Throws: `DecodingError` that names the key and those that exist.
    func refuseUnknownKeys(_ known: [String], of what: String) throws {
        let fields = try container(keyedBy: AnyKey.self)
        guard let key = fields.allKeys.first(where: { !known.contains($0.stringValue) }) else { return }
        throw DecodingError.dataCorrupted(
            .init(
                codingPath: codingPath,
                debugDescription: "\(what) has no field \"\(key.stringValue)\"; it has \(known.joined(separator: ", "))"
            )
        )
    }
}

/// Any key of a JSON object.
private struct AnyKey: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init?(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
}
