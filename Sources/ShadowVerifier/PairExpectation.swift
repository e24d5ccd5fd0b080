import Foundation
import HabitStore

/// Two stores that differ, and in which ways: the verifier must find exactly these.
public struct PairExpectation: Sendable, Codable, Equatable {
    /// One difference.
    public struct Difference: Sendable, Codable, Hashable {
        /// Its kind; nil for a query, whose kind follows from the others.
        public var kind: StoreDifference.Kind?
        /// The entity.
        public var entity: String?
        /// The record.
        public var id: UUID?
        /// The attribute or relationship.
        public var attribute: String?
        /// The name of a query whose result differs.
        public var query: String?

        /// Names a difference.
        public init(
            kind: StoreDifference.Kind? = nil,
            entity: String? = nil,
            id: UUID? = nil,
            attribute: String? = nil,
            query: String? = nil
        ) {
            self.kind = kind
            self.entity = entity
            self.id = id
            self.attribute = attribute
            self.query = query
        }

        /// The same difference as the verifier reports it.
        public init(_ difference: StoreDifference) {
            if let query = difference.query {
                self.init(query: query)
            } else {
                self.init(
                    kind: difference.kind,
                    entity: difference.entity,
                    id: difference.id,
                    attribute: difference.attribute
                )
            }
        }
    }

    /// The pair's description, for people.
    public var description: String
    /// The name of the first store's file.
    public var a: String
    /// The name of the second store's file.
    public var b: String
    /// The differences that the verifier must find.
    public var differences: [Difference]

    /// Describes a pair.
    public init(description: String, a: String, b: String, differences: [Difference]) {
        self.description = description
        self.a = a
        self.b = b
        self.differences = differences
    }

    /// Reads a file that describes a pair.
    ///
    /// - Throws: ``HabitStoreError/Code/invalidQuery`` if it does not, or names files outside its own folder.
    public static func load(path: String) throws -> PairExpectation {
        let pair: PairExpectation = try JSONFile.load(path: path, what: "a description of two stores")
        for (key, name) in [("a", pair.a), ("b", pair.b)] where !isFileName(name) {
            throw HabitStoreError(
                .invalidQuery,
                "\"\(key)\" has to be the name of a file in the same folder, without a path",
                at: .init(path: path)
            )
        }
        return pair
    }

    private static func isFileName(_ name: String) -> Bool {
        !["", ".", ".."].contains(name) && !name.utf8.contains { $0 == UInt8(ascii: "/") || $0 == 0 }
    }
}
