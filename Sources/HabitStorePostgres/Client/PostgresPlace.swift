import Foundation
import HabitStore
import Hashing

/// The location of a store: a server and the store's name on it.
///
/// The text form is a libpq connection URI without its scheme, followed by `#` and the name:
/// `//db1,db2/habits?sslmode=verify-full#alice`. After the engine's name, it reads like the URI: `postgres://db1,db2/habits#alice`.
public struct PostgresPlace: Sendable, Hashable, CustomStringConvertible {
    /// The connection URI: <https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-CONNSTRING>.
    public let server: String
    /// The store's name on the server.
    public let name: String

    /// Creates the place of a store.
    public init(server: String, name: String) { (self.server, self.name) = (Self.withUsualScheme(server), name) }

    /// Separates a store's name from the suffix of a copy.
    static let separator = "\u{1F}"

    /// The place of a copy of the store.
    func beside(_ suffix: String) -> PostgresPlace {
        PostgresPlace(server: server, name: name + Self.separator + suffix)
    }

    /// Parses a place.
    ///
    /// - Throws: ``HabitStore/HabitStoreError/Code/invalidValue`` for a malformed text or one with a password: addresses appear in
    ///   logs and in process lists.
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
            // The message does not repeat the text: libpq's other forms may have a password anywhere.
            throw HabitStoreError(.invalidValue, "this is not a connection URI; write postgresql://HOST:PORT/DATABASE")
        }
        guard !Passwords.isIn(uri) else { throw Passwords.refusal(of: uri) }
        return withUsualScheme(uri)
    }

    /// libpq accepts two equivalent schemes, and two URIs of one server should be equal.
    private static func withUsualScheme(_ uri: String) -> String {
        uri.hasPrefix("postgres://") ? "postgresql" + uri.dropFirst("postgres".count) : uri
    }

    /// The identifier of the store in the tables: the first bytes of the SHA-256 of its name, as a UUID of version 8 (RFC 9562).
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
