import CYardstick

/// How entries lie in a file.
enum EntryLayout: String, Codable, CaseIterable {
    /// By identifier, with an index on habit and date.
    case byIdentifier = "by id"
    /// In the order of habit and date as well.
    case clustered

    var byHand: cy_layout { self == .byIdentifier ? cy_by_identifier : cy_clustered }

    /// What is worth a row of its own.
    var works: [Work] {
        switch self {
        case .byIdentifier: Work.allCases
        case .clustered: [.bulkLoad, .bulkLoadSorted, .readsByIdentifier, .ranges, .commits]
        }
    }
}
