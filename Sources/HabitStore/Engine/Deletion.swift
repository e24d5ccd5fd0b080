import Foundation

/// The effects of a deletion under the delete rules.
struct Deletion {
    /// The records to delete, each after the one whose deletion causes its own.
    var records: [RecordKey] = []
    var doomed: Set<RecordKey> = []
    /// References into doomed records that become nil or lose a link.
    var released: [(source: RecordKey, attribute: Int, target: UUID)] = []
    /// References into doomed records by which a rule forbids the deletion, unless their record goes too.
    var denying: [(source: RecordKey, target: RecordKey)] = []
    /// References of doomed records by which a rule forbids the deletion, unless what they lead to goes too.
    var holding: [(source: RecordKey, relationship: String, target: RecordKey)] = []

    mutating func add(_ key: RecordKey) {
        if doomed.insert(key).inserted { records.append(key) }
    }
}
