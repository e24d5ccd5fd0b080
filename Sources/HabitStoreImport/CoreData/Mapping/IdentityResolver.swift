import Foundation
import HabitStore

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
        root.lookup.reset()
        try root.lookup.bind(key, at: 1)
        guard try root.lookup.step(), let id = IdentityRule.identifier(root.lookup.value(0), root.type) else {
            return nil
        }
        if let keeper = root.keepers[id], keeper != key { return nil }
        return id
    }
}
