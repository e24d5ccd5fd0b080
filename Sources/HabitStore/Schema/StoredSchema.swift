import Foundation

/// A schema as a store writes it down, under `schema` in its metadata: JSON with sorted keys,
/// `{"entities": […], "version": "3.0.0"}`, each entity as `EntityShape` has it.
public struct StoredSchema: Sendable, Hashable, Codable {
    /// The schema's version.
    public var version: Schema.Version
    /// The entities in their order.
    @_spi(Engines) public var entities: [EntityShape]

    /// Makes a description.
    @_spi(Engines) public init(version: Schema.Version, entities: [EntityShape]) {
        (self.version, self.entities) = (version, entities)
    }

    /// The description of a schema.
    public init(_ schema: Schema) { self = schema.stored }

    /// Reads what a store has written.
    ///
    /// - Throws: ``HabitStoreError/Code/corrupt`` when it cannot be read.
    init(parsing text: String, path: String?) throws {
        do {
            self = try JSONDecoder().decode(Self.self, from: Data(text.utf8))
        } catch {
            throw Self.unreadable(path, error)
        }
    }

    /// The version alone: also of a store whose entities have something that this program does not know.
    static func version(in text: String, path: String?) throws -> Schema.Version {
        struct Version: Decodable {
            let version: Schema.Version
        }
        do {
            return try JSONDecoder().decode(Version.self, from: Data(text.utf8)).version
        } catch {
            throw unreadable(path, error)
        }
    }

    private static func unreadable(_ path: String?, _ cause: any Error) -> HabitStoreError {
        HabitStoreError.damage(
            "the schema that the store has written down cannot be read; restore a backup",
            at: .init(path: path),
            underlying: cause
        )
    }

    /// The form that stores contain: the same bytes for the same schema.
    func text() throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        do {
            return String(decoding: try encoder.encode(self), as: UTF8.self)
        } catch {
            throw HabitStoreError(
                .schemaMismatch,
                "the schema has a default that a store cannot keep",
                underlying: error
            )
        }
    }
}
