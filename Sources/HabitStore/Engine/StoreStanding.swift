/// A store's role, and the number of migrations of its file: a program that opened it before a migration learns from the number
/// that its records now have another form.
///
/// Written as `authoritative`, or `authoritative 2` after two migrations.
struct StoreStanding: Equatable {
    /// More than any store has gone through.
    private static let mostMigrations = 1_000_000_000

    var role = StoreRole.authoritative
    var migrations = 0

    init() {}

    init?(parsing text: String) {
        if let role = StoreRole(rawValue: text) {
            self.role = role
            return
        }
        let parts = text.split(separator: " ", omittingEmptySubsequences: false)
        guard parts.count == 2, let role = StoreRole(rawValue: String(parts[0])), let migrations = Int(parts[1]),
            (1...Self.mostMigrations).contains(migrations)
        else { return nil }
        (self.role, self.migrations) = (role, migrations)
    }

    var text: String { migrations == 0 ? role.rawValue : "\(role.rawValue) \(migrations)" }
}
