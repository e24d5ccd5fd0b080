import Foundation
import HabitStore

/// The identifiers of a file's records by their keys, at the moment at which the file was opened.
final class IdentityResolver {
    private let file: CoreDataFile
    private let storeID: String
    private var roots: [String: Root] = [:]

    /// What is known of a root entity's records. A class, since a copy that somebody holds makes each change to what is known a
    /// copy of all of it.
    private final class Root {
        let type: CoreDataAttributeType
        let lookup: SourceStatement
        /// The key that keeps a value that several records have.
        let keepers: [UUID: Int64]
        /// What was looked up last.
        var known: [Int64: UUID] = [:]

        init(_ type: CoreDataAttributeType, _ lookup: SourceStatement, _ keepers: [UUID: Int64]) {
            (self.type, self.lookup, self.keepers) = (type, lookup, keepers)
        }
    }

    /// How many identifiers of an entity are remembered at most: records that are referred to again and again are few, and
    /// looking another one up is one step down a tree.
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
                // Not by an index, whose order may be that of a collation which only the app has.
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

    /// The identifier of the record of a key, whether there is one or not: a reference that dangles goes on dangling.
    func identifier(root name: String, key: Int64) throws -> UUID {
        guard let root = roots[name] else { return derived(name, key) }
        if let known = root.known[key] { return known }
        let id = try own(root, key) ?? derived(name, key)
        if root.known.count >= Self.mostKnown { root.known.removeAll(keepingCapacity: true) }
        root.known[key] = id
        return id
    }

    /// How many identifiers are remembered.
    var knownCount: Int { roots.values.reduce(0) { $0 + $1.known.count } }

    /// The identifier that a record gets which has no UUID of its own, or none that is only its own.
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
