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

/// The identifiers of a file's records by key, as of the opening of the file.
final class IdentityResolver {
    private let file: CoreDataFile
    private let storeID: String
    private var roots: [String: Root] = [:]

    /// A root entity's identifiers. A class, because changing a shared copy of a struct would copy the whole cache.
    private final class Root {
        let type: CoreDataAttributeType
        let lookup: SourceStatement
        /// For each identity that several records have, the key of the record that keeps it.
        let keepers: [UUID: Int64]
        /// A cache of recent lookups.
        var known: [Int64: UUID] = [:]

        init(_ type: CoreDataAttributeType, _ lookup: SourceStatement, _ keepers: [UUID: Int64]) {
            (self.type, self.lookup, self.keepers) = (type, lookup, keepers)
        }
    }

    /// The size limit of the cache per entity. Few records are referred to repeatedly, and another lookup is one search in the table's
    /// tree.
    static let mostKnown = 50_000

    init(_ file: CoreDataFile, _ identities: [String: String]) throws {
        self.file = file
        storeID = file.metadata.storeID
        for (name, attribute) in identities {
            guard let root = file.model.entity(name), let attribute = root.attribute(attribute),
                let column = attribute.column
            else { continue }
            let (value, table) = (SourceConnection.quoted(column), SourceConnection.quoted(root.table))
            let repeated = try file.connection.prepare(
                // Without an index, whose collation may exist only in the app.
                "SELECT +\(value), min(Z_PK) FROM \(table) WHERE \(value) NOT NULL GROUP BY 1 HAVING count(*) > 1"
            )
            var keepers: [UUID: Int64] = [:]
            while try repeated.step() {
                guard let id = IdentityRule.identifier(repeated.value(0), attribute.type) else { continue }
                keepers[id] = repeated.optionalInt(1)
            }
            let lookup = try file.connection.prepare("SELECT \(value) FROM \(table) WHERE Z_PK = ?1")
            roots[name] = Root(attribute.type, lookup, keepers)
        }
    }

    /// The identifier for a key, whether or not it has a record, so that a dangling reference stays dangling.
    func identifier(root name: String, key: Int64) throws -> UUID {
        guard let root = roots[name] else { return derived(name, key) }
        if let known = root.known[key] { return known }
        let id = try own(root, key) ?? derived(name, key)
        if root.known.count >= Self.mostKnown { root.known.removeAll(keepingCapacity: true) }
        root.known[key] = id
        return id
    }

    /// The number of cached identifiers.
    var knownCount: Int { roots.values.reduce(0) { $0 + $1.known.count } }

    /// The identifier of a record that has no unique UUID.
    func derived(_ root: String, _ key: Int64) -> UUID {
        IdentityRule.derived(storeID: storeID, root: root, key: key)
    }

    private func own(_ root: Root, _ key: Int64) throws -> UUID? {
        guard try root.lookup.find(.int(key)), let id = IdentityRule.identifier(root.lookup.value(0), root.type) else {
            return nil
        }
        if let keeper = root.keepers[id], keeper != key { return nil }
        return id
    }
}

/// Identifiers for records without a UUID: the same name always gives the same identifier.
///
/// They are UUIDs of version 8 (RFC 9562, section 5.8): the first 128 bits of SHA-256 over the parts of the name, each preceded by its
/// length in bytes as a big-endian 64-bit number, with the version in bits 48 to 51 and the variant in bits 64 and 65.
public enum DerivedID {
    /// The identifier for a name.
    ///
    /// - Parameter parts: the name from general to specific: the kind of source, the source, and its record.
    public static func make(_ parts: [String]) -> UUID { Name(parts).identifier }

    /// A name whose first parts many others share.
    package struct Name: Sendable {
        private var bytes: [UInt8] = []

        package init(_ parts: [String]) { for part in parts { append(part) } }

        package mutating func append(_ part: String) {
            withUnsafeBytes(of: UInt64(part.utf8.count).bigEndian) { bytes.append(contentsOf: $0) }
            bytes.append(contentsOf: part.utf8)
        }

        package var identifier: UUID {
            var digest = SHA256.hash(data: bytes).prefix(16).map { $0 }
            digest[6] = digest[6] & 0x0F | 0x80
            digest[8] = digest[8] & 0x3F | 0x80
            return digest.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
        }
    }

    /// Whether an identifier may be one of these; no random one is.
    package static func isDerived(_ id: UUID) -> Bool { id.uuid.6 & 0xF0 == 0x80 }
}
