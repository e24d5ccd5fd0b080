import Foundation
import Hashing

extension StoreDifference {
    /// Hexadecimal digits of an identifier.
    static let identifierLength = 12

    /// The identifier of the n-th difference that agrees in everything which names it.
    func identifier(occurrence: Int) -> String {
        var hash = SHA256()
        // At which record two answers begin to differ is not what names the difference of a query.
        let record = query == nil ? id?.uuidString : nil
        let parts = [kind.rawValue, entity, record, attribute, query, subject]
        // Each text is preceded by its length, and an absent part has none: no two lists of parts give the same bytes.
        for part in parts {
            hash.update(data: Data((part.map { "\($0.utf8.count):\($0)" } ?? "-").utf8))
        }
        if occurrence > 1 { hash.update(data: Data("#\(occurrence)".utf8)) }
        return String(Data(hash.finalize()).hexadecimal.prefix(Self.identifierLength))
    }

    /// Takes the next number until no other difference has the same identifier.
    mutating func distinguish(from others: [StoreDifference]) {
        var occurrence = 1
        differenceID = identifier(occurrence: occurrence)
        while others.contains(where: { $0.differenceID == differenceID }) {
            occurrence += 1
            differenceID = identifier(occurrence: occurrence)
        }
    }
}
