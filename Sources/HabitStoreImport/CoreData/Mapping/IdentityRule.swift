import Foundation
import HabitStore
import Hashing

/// The identifiers that records of a Core Data file get.
///
/// Where a root entity has an attribute that is called an identity, by its name or by being declared unique, and whose UUIDs
/// are there for each record and are all different, they are the identifiers. All other records get one that is made of the store's identity, the root entity's name and the key: the first
/// 16 bytes of SHA-256 over the UTF-8 texts `habitstore coredata`, the store's identity in capitals, the root entity's name
/// and the key in decimal digits, each with a zero byte behind it, with version 8 and the variant of RFC 9562 set in them. The
/// entities of one inheritance share their keys, and so their identifiers.
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

    /// For each root entity, the attribute whose values are its records' identifiers.
    static func choose(_ file: CoreDataFile) throws -> [String: String] {
        var result: [String: String] = [:]
        for root in file.model.entities where root.superentity == nil {
            let unique = Set(root.uniqueness.filter { $0.count == 1 }.flatMap { $0 })
            // A UUID of another name is most often that of some other record.
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

    /// `id`, `uuid`, and so on, or the same behind the entity's own name.
    private static func isCalledIdentity(_ name: String, of entity: String) -> Bool {
        let name = name.lowercased()
        return names.contains(name) || names.contains { name == entity.lowercased() + $0 }
    }

    /// What sounds like an identity first; what is no UUID by its type last.
    private static func rank(_ attribute: CoreDataAttribute, _ unique: Set<String>) -> Int {
        let byName = names.firstIndex(of: attribute.name.lowercased()) ?? 9
        return byName + (unique.contains(attribute.name) ? 0 : 10) + (attribute.type == .uuid ? 0 : 100)
    }

    /// Whether each record has a value that is a UUID, and all are different. Nothing is proven where there are no records;
    /// then the attribute has to be declared as a UUID.
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

    /// The UUID that a column holds. Of texts, only the form in which UUIDs are printed: what differs from it by its letters
    /// would not be found again by its text.
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
