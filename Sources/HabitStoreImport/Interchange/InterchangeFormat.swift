/// The formats in which records are exported to other programs and read back.
public enum InterchangeFormat: String, Sendable, CaseIterable, Codable {
    /// A folder with a CSV file for each entity and a manifest.
    case csv
    /// One JSON document.
    case json
}
