import CYardstick

/// The layout of entries in a file.
enum EntryLayout: String, Codable, CaseIterable {
    /// By identifier, with an index on habit and date.
    case byIdentifier = "by id"
    /// Also in the order of habit and date.
    case clustered

    var byHand: cy_layout { self == .byIdentifier ? cy_by_identifier : cy_clustered }

    /// The works that get their own row.
    var works: [Work] {
        switch self {
        case .byIdentifier: Work.allCases
        case .clustered: [.bulkLoad, .bulkLoadSorted, .readsByIdentifier, .ranges, .commits]
        }
    }
}
