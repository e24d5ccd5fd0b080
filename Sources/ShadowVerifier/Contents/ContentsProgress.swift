import Foundation
import HabitStore

/// How far the comparison of contents has come.
struct ContentsProgress: Codable {
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

    /// What is still to be compared of the entity.
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

extension UUID {
    /// The next identifier in the order of the bytes; nil behind the last.
    fileprivate var successor: UUID? {
        var next = uuid
        let isLast = withUnsafeMutableBytes(of: &next) { bytes in
            for place in bytes.indices.reversed() {
                bytes[place] &+= 1
                if bytes[place] != 0 { return false }
            }
            return true
        }
        return isLast ? nil : UUID(uuid: next)
    }
}
