import Foundation
import HabitStore
import HabitStoreRollout
import Hashing

/// How users are named to whoever watches.
///
/// A name that is not shown is 48 bits of the HMAC-SHA256 of the id, keyed by the salt of the fleet's waves: the same user has the same
/// name for as long as the fleet lasts, and nobody who cannot read the fleet's files can find out whose it is by trying ids.
struct FleetNames: Sendable {
    private let key: SymmetricKey
    private let root: String
    /// Whether ids are shown.
    private let showsUsers: Bool

    /// - Parameter salt: that of the fleet's members.
    init(salt: String, root: String, showsUsers: Bool) {
        key = SymmetricKey(data: Data(salt.utf8))
        (self.root, self.showsUsers) = (root, showsUsers)
    }

    /// A user's id, or what stands for it.
    func name(of user: String) -> String {
        guard !showsUsers else { return user }
        return String(HMAC<SHA256>.authenticationCode(for: Array(user.utf8), using: key).hexadecimal.prefix(12))
    }

    /// A text without what tells whom it is about: the id, and paths into users' folders, whose names are made of ids.
    ///
    /// - Parameter user: whom it is about; nil for nobody, or where that is not known.
    func text(_ text: String, about user: String? = nil) -> String {
        guard !showsUsers else { return text }
        let named = user.map { $0.isEmpty ? text : text.replacing($0, with: name(of: $0)) } ?? text
        return named.replacing(/[uh]-(?:[0-9a-f]{2})+(?:-[0-9a-f]+)?/, with: "…")
    }

    /// An event of the ledger, in which users have their names.
    func event(_ event: FleetEvent) -> FleetEvent {
        guard case .halted(let person, let reason, let user) = event else { return event }
        return .halted(by: person, because: text(reason, about: user), user: user.map(name(of:)))
    }
}

extension Fleet {
    /// The id of the member that a page without ids shows by a name.
    ///
    /// - Throws: ``HabitStoreError/Code/notFound`` where no member has the name; what keeps the members from being read.
    public func user(named name: String) throws -> String {
        let members = try members()
        let names = FleetNames(salt: members.salt, root: root, showsUsers: false)
        let wanted = name.lowercased()
        guard let member = members.members.first(where: { names.name(of: $0.user) == wanted }) else {
            throw HabitStoreError(
                .notFound,
                "no member of the fleet has this name: the page shows names of 12 digits and letters from a to f",
                at: .init(path: folder.members)
            )
        }
        return member.user
    }
}
