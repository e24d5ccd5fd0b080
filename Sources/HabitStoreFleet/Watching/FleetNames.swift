import Foundation
import HabitStore
import HabitStoreRollout
import Hashing

/// The names of users on pages and in reports.
///
/// A pseudonym is 48 bits of the HMAC-SHA256 of the id, keyed by the salt of the fleet's waves: it stays the same as long as the fleet exists, and
/// only readers of the fleet's files can find the user by trying ids.
struct FleetNames: Sendable {
    private let key: SymmetricKey
    private let root: String
    /// Whether to show ids.
    private let showsUsers: Bool

    /// - Parameter salt: the salt of the fleet's members.
    init(salt: String, root: String, showsUsers: Bool) {
        key = SymmetricKey(data: Data(salt.utf8))
        (self.root, self.showsUsers) = (root, showsUsers)
    }

    /// A user's id or pseudonym.
    func name(of user: String) -> String {
        guard !showsUsers else { return user }
        return String(HMAC<SHA256>.authenticationCode(for: Array(user.utf8), using: key).hexadecimal.prefix(12))
    }

    /// A text without the user's id and without paths into users' folders, whose names contain ids.
    ///
    /// - Parameter user: the user that the text is about; nil if there is none or it is unknown.
    func text(_ text: String, about user: String? = nil) -> String {
        guard !showsUsers else { return text }
        let named = user.map { $0.isEmpty ? text : text.replacing($0, with: name(of: $0)) } ?? text
        return named.replacing(/[uh]-(?:[0-9a-f]{2})+(?:-[0-9a-f]+)?/, with: "…")
    }

    /// A ledger event with users' names instead of ids.
    func event(_ event: FleetEvent) -> FleetEvent {
        guard case .halted(let person, let reason, let user) = event else { return event }
        return .halted(by: person, because: text(reason, about: user), user: user.map(name(of:)))
    }
}

extension Fleet {
    /// The id of the member with this pseudonym.
    ///
    /// - Throws: ``HabitStoreError/Code/notFound`` if no member has it; an error if the members cannot be read.
    public func user(named name: String) throws -> String {
        let members = try members()
        let names = FleetNames(salt: members.salt, root: root, showsUsers: false)
        let wanted = name.lowercased()
        guard let member = members.members.first(where: { names.name(of: $0.user) == wanted }) else {
            throw HabitStoreError(
                .notFound,
                "no member of the fleet has this name: names on the page have 12 digits and letters from a to f",
                at: .init(path: folder.members)
            )
        }
        return member.user
    }
}
