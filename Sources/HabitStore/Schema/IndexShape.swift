/// One index of an ``EntityShape``.
@_spi(Engines) public struct IndexShape: Sendable, Hashable, Codable {
    /// The attributes' names, first key first.
    public var attributes: [String]
    /// Whether the index holds a copy of each record; see ``IndexDescription/clustering()``.
    public var isClustering: Bool

    /// Makes a shape.
    public init(_ attributes: [String], isClustering: Bool = false) {
        (self.attributes, self.isClustering) = (attributes, isClustering)
    }

    private enum CodingKeys: String, CodingKey {
        case attributes
        case isClustering = "clustering"
    }

    /// Reads a shape.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        attributes = try container.decode([String].self, forKey: .attributes)
        isClustering = try container.decodeIfPresent(Bool.self, forKey: .isClustering) ?? false
    }

    /// Writes the shape.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(attributes, forKey: .attributes)
        if isClustering { try container.encode(true, forKey: .isClustering) }
    }
}
