import Foundation
import HabitStore
import Hashing

/// The identifiers of a file's records, looked up one at a time. If several records have the same UUID, the lowest key keeps it.
final class WitnessIdentifiers {
    private let file: CoreDataFile
    private var lookups: [String: SourceStatement] = [:]
    /// For each UUID that several records have, the key that keeps it.
    private var keepers: [String: [UUID: Int64]] = [:]
    private var known: [String: [Int64: UUID]] = [:]

    private static let mostKnown = 50_000

    init(_ file: CoreDataFile, _ identities: [String: String]) throws {
        self.file = file
        for (root, attribute) in identities {
            guard let entity = file.model.entity(root), let column = entity.attribute(attribute)?.column else {
                continue
            }
            let own = "CASE typeof(\"\(column)\") WHEN 'blob' THEN hex(\"\(column)\") ELSE \"\(column)\" END"
            lookups[root] = try file.connection.prepare("SELECT \(own) FROM \"\(entity.table)\" WHERE Z_PK = ?1")
            let repeated = try file.connection.prepare(
                "SELECT \(own), min(Z_PK) FROM \"\(entity.table)\" GROUP BY 1 HAVING count(*) > 1"
            )
            while try repeated.step() {
                guard let id = repeated.text(0).flatMap(Self.identifier), let key = repeated.optionalInt(1) else {
                    continue
                }
                keepers[root, default: [:]][id] = key
            }
        }
    }

    /// The identifier for a key, whether or not it has a record.
    func identifier(_ root: String, _ key: Int64) throws -> UUID {
        if let id = known[root]?[key] { return id }
        let id = try own(root, key) ?? derived(root, key)
        if known[root, default: [:]].count >= Self.mostKnown { known[root] = [:] }
        known[root, default: [:]][key] = id
        return id
    }

    private func own(_ root: String, _ key: Int64) throws -> UUID? {
        guard let lookup = lookups[root] else { return nil }
        lookup.reset()
        try lookup.bind(key, at: 1)
        guard try lookup.step(), let id = lookup.text(0).flatMap(Self.identifier) else { return nil }
        if let keeper = keepers[root]?[id], keeper != key { return nil }
        return id
    }

    /// A UUID from 32 uppercase hexadecimal digits, with or without dashes.
    private static func identifier(_ text: String) -> UUID? {
        var digits = text
        if digits.utf8.count == 36 {
            guard digits == digits.uppercased() else { return nil }
        } else {
            guard digits.utf8.count == 32 else { return nil }
            for place in [20, 16, 12, 8] { digits.insert("-", at: digits.index(digits.startIndex, offsetBy: place)) }
        }
        return UUID(uuidString: digits)
    }

    private func derived(_ root: String, _ key: Int64) -> UUID {
        let text = "habitstore coredata\0\(file.metadata.storeID.uppercased())\0\(root)\0\(key)\0"
        var digits = SHA256.hash(data: Data(text.utf8)).prefix(16).map { $0 }
        digits[6] = 0x80 | (digits[6] & 0b1111)
        digits[8] = 0x80 | (digits[8] & 0b11_1111)
        return NSUUID(uuidBytes: digits) as UUID
    }
}
