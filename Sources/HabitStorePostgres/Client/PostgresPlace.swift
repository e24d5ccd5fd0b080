import Foundation
import HabitStore
import Hashing

/// Where a store is: a server and the store's name there.
///
/// The text is a connection URI of libpq without its scheme, and behind `#` the name: `//db1,db2/habits?sslmode=verify-full#alice`.
/// With the engine's name before it that reads as the URI does: `postgres://db1,db2/habits#alice`.
public struct PostgresPlace: Sendable, Hashable, CustomStringConvertible {
    /// The connection URI: <https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-CONNSTRING>.
    public let server: String
    /// The store's name there.
    public let name: String

    /// Names a store.
    public init(server: String, name: String) { (self.server, self.name) = (Self.withUsualScheme(server), name) }

    /// Stands once between a store's name and what tells a copy of it from the store.
    static let separator = "\u{1F}"

    /// The place of what belongs to the store and is not the store: of a copy.
    func beside(_ suffix: String) -> PostgresPlace {
        PostgresPlace(server: server, name: name + Self.separator + suffix)
    }

    /// Reads a place.
    ///
    /// - Throws: ``HabitStore/HabitStoreError/Code/invalidValue`` for a text that is none, or that holds a password: addresses
    ///   stand in logs and in lists of processes.
    public init(parsing text: String) throws {
        guard text.hasPrefix("//"), let mark = text.lastIndex(of: "#"), text.index(after: mark) < text.endIndex else {
            throw HabitStoreError(
                .invalidValue,
                "this names no store on a server; write //HOST:PORT/DATABASE#NAME",
                at: .init(path: text)
            )
        }
        let name = String(text[text.index(after: mark)...])
        guard let decoded = name.removingPercentEncoding, !decoded.utf8.contains(0) else {
            throw HabitStoreError(
                .invalidValue,
                "the store's name is not written as a URI's fragment",
                at: .init(path: text)
            )
        }
        self.name = decoded
        server = try Self.server("postgresql:" + text[..<mark])
    }

    /// A connection URI without a password.
    ///
    /// - Throws: ``HabitStore/HabitStoreError/Code/invalidValue`` for one with a password.
    public static func server(_ uri: String) throws -> String {
        guard ["postgresql://", "postgres://"].contains(where: uri.hasPrefix) else {
            // Nothing of it is repeated: another form of libpq's may hold a password anywhere.
            throw HabitStoreError(.invalidValue, "this is no connection URI; write postgresql://HOST:PORT/DATABASE")
        }
        guard !Passwords.isIn(uri) else { throw Passwords.refusal(of: uri) }
        return withUsualScheme(uri)
    }

    /// libpq knows two schemes for the same thing; two URIs of one server should be equal.
    private static func withUsualScheme(_ uri: String) -> String {
        uri.hasPrefix("postgres://") ? "postgresql" + uri.dropFirst("postgres".count) : uri
    }

    /// The identifier of the store in the tables: the beginning of the SHA-256 of its name, as a UUID of version 8 (RFC 9562).
    public var store: UUID {
        var bytes = Array(SHA256.hash(data: Data(name.utf8)).prefix(16))
        bytes[6] = bytes[6] & 0x0F | 0x80
        bytes[8] = bytes[8] & 0x3F | 0x80
        return bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
    }

    /// `//HOST:PORT/DATABASE#NAME`.
    public var description: String {
        let name = name.addingPercentEncoding(withAllowedCharacters: .urlFragmentAllowed) ?? name
        return "\(server.dropFirst("postgresql:".count))#\(name)"
    }
}
