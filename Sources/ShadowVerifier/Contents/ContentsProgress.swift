import Foundation
@_spi(Engines) import HabitStore

/// How far the comparison of contents has come.
struct ContentsProgress: Codable {
    /// More than is ever compared.
    static let greatestCount = 1 << 47

    /// Where the digests of what was read of the entity stand, for each store that keeps digests.
    struct Tallies: Codable {
        var a: DigestTally.State?
        var b: DigestTally.State?
    }

    /// The position of the entity in the schema.
    private(set) var entity = 0
    /// The last identifier of it that was compared; nil before the first.
    var last: UUID?
    /// Records compared so far, of all entities.
    var compared = 0
    /// Where the digests of what was read stand.
    var tallies = Tallies()

    /// Whether it can be how far a comparison of a schema with so many entities has come.
    func isPlausible(entities: Int) -> Bool {
        (0...entities).contains(entity) && (0...Self.greatestCount).contains(compared)
            && tallies.a?.isPlausible ?? true && tallies.b?.isPlausible ?? true
    }

    /// The entity's identifiers that are not compared yet.
    var rest: IdentifierRange {
        guard let last else { return .all }
        return IdentifierRange(first: last.successor ?? IdentifierRange.all.last, last: IdentifierRange.all.last)
    }

    mutating func beginNextEntity() {
        entity += 1
        last = nil
        tallies = Tallies()
    }
}
