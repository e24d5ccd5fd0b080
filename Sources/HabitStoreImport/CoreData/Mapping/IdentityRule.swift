import Foundation
import HabitStore
import Hashing

/// Chooses the identifiers of a Core Data file's records.
///
/// If a root entity has an attribute that is an identity by its name or by a uniqueness constraint, and every record has a different UUID
/// in it, these UUIDs are the identifiers. Other identifiers are derived from the store's identity, the root entity's name and the key: the
/// first 16 bytes of SHA-256 over the UTF-8 texts `habitstore coredata`, the store's identity in capitals, the root entity's name and the
/// key in decimal digits, each followed by a zero byte, with version 8 and the variant of RFC 9562 set. Entities of one inheritance tree
/// share their keys, and so their identifiers.
enum IdentityRule {
    /// The derived identifier of a record.
    static func derived(storeID: String, root: String, key: Int64) -> UUID {
        var hash = SHA256()
        for part in ["habitstore coredata", storeID.uppercased(), root, String(key)] {
            hash.update(data: Data(part.utf8))
            hash.update(data: [0])
        }
        var bytes = Array(hash.finalize().prefix(16))
        bytes[6] = bytes[6] & 0x0f | 0x80
        bytes[8] = bytes[8] & 0x3f | 0x80
        return bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
    }

    /// The attribute with the identifiers, by root entity.
    static func choose(_ file: CoreDataFile) throws -> [String: String] {
        var result: [String: String] = [:]
        for root in file.model.entities where root.superentity == nil {
            let unique = Set(root.uniqueness.filter { $0.count == 1 }.flatMap { $0 })
            // A UUID with another name most often refers to another record.
            let candidates = root.attributes.filter {
                [.uuid, .string].contains($0.type) && $0.column != nil
                    && (unique.contains($0.name) || isCalledIdentity($0.name, of: root.name))
            }
            let ordered = candidates.sorted { left, right in
                (rank(left, unique), left.name) < (rank(right, unique), right.name)
            }
            for attribute in ordered where try isIdentity(attribute, root, file) {
                result[root.name] = attribute.name
                break
            }
        }
        return result
    }

    private static let names = ["id", "uuid", "identifier", "uniqueid", "uniqueidentifier", "guid"]

    /// `id`, `uuid` and so on, also with the entity's name before it.
    private static func isCalledIdentity(_ name: String, of entity: String) -> Bool {
        let name = name.lowercased()
        return names.contains(name) || names.contains { name == entity.lowercased() + $0 }
    }

    /// Ranks candidates: likely names first, attributes of another type than UUID last.
    private static func rank(_ attribute: CoreDataAttribute, _ unique: Set<String>) -> Int {
        let byName = names.firstIndex(of: attribute.name.lowercased()) ?? 9
        return byName + (unique.contains(attribute.name) ? 0 : 10) + (attribute.type == .uuid ? 0 : 100)
    }

    /// Whether every record has a UUID and all are different. Without records nothing can be proven; the attribute must then be declared as
    /// a UUID.
    private static func isIdentity(
        _ attribute: CoreDataAttribute,
        _ root: CoreDataEntity,
        _ file: CoreDataFile
    ) throws -> Bool {
        guard let column = attribute.column else { return false }
        let (name, table) = (SourceConnection.quoted(column), SourceConnection.quoted(root.table))
        let counts = try file.connection.prepare("SELECT count(*), count(DISTINCT \(name)) FROM \(table)")
        guard try counts.step(), let all = counts.optionalInt(0), counts.optionalInt(1) == all else { return false }
        if all == 0 { return attribute.type == .uuid }
        let values = try file.connection.prepare("SELECT \(name) FROM \(table)")
        while try values.step() {
            guard identifier(values.value(0), attribute.type) != nil else { return false }
        }
        return true
    }

    /// The UUID in a column. A text counts only in the form in which UUIDs are printed; in another form, a search for the text would no
    /// longer find it.
    static func identifier(_ stored: SourceValue, _ type: CoreDataAttributeType) -> UUID? {
        switch stored {
        case .blob(let bytes) where bytes.count == 16 && type == .uuid:
            return bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
        case .text(let text):
            guard let id = UUID(uuidString: text), id.uuidString == text else { return nil }
            return id
        default: return nil
        }
    }
}
