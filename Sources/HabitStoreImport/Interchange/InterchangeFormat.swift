/// The forms in which a store's records are written for other programs, and read back.
public enum InterchangeFormat: String, Sendable, CaseIterable, Codable {
    /// A folder with a file of comma-separated values for each entity, and a manifest.
    case csv
    /// One JSON document.
    case json
}
