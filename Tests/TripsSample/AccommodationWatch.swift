import Foundation
import HabitStore

/// Finds the trips whose accommodation was added, changed or removed since it looked last, by the store's history.
///
/// How far it has come is kept in a file, as a token: it means the same in each store of a user, so that a rollout from one
/// engine to another changes nothing for who watches.
public struct AccommodationWatch: Sendable {
    /// What was found.
    public struct Changes: Sendable, Equatable {
        /// The trips, by their identifiers. Those that are gone are not among them.
        public let trips: [Trip]
        /// Whether the history no longer reached back to the token, or was another store's: all trips that have an
        /// accommodation are among the changed ones then.
        public let isStartedOver: Bool
    }

    private struct Position: Codable {
        /// Tokens count within a lineage only.
        let lineage: UUID
        let token: HistoryToken
    }

    private let file: URL
    private let author: String?

    /// A watch that goes on where the one with the same file left off.
    ///
    /// - Parameters:
    ///   - path: where the token is kept; the file is made with the first look.
    ///   - author: whose changes are looked for; nil for everybody's.
    public init(path: String, author: String? = nil) {
        file = URL(fileURLWithPath: path)
        self.author = author
    }

    /// Hands the changed trips to `handle`, and remembers that they were looked at when it returns. Where it throws, or the
    /// process ends meanwhile, the next look finds them again.
    ///
    /// - Throws: ``HabitStoreError/Code/corrupt`` for a file that holds no token; what the store and `handle` throw.
    public func look(at store: some HabitStore, _ handle: (Changes) throws -> Void) throws {
        let known = try position()
        let (found, next) = try store.read { transaction -> (Changes, Position) in
            let information = try transaction.information()
            let next = Position(lineage: information.lineage, token: information.token)
            guard let known, known.lineage == next.lineage, known.token >= information.historyFloor else {
                return (try everything(transaction, isFirst: known == nil), next)
            }
            return (try changes(transaction, after: known.token), next)
        }
        if !found.trips.isEmpty { try handle(found) }
        if known?.token != next.token || known?.lineage != next.lineage { try remember(next) }
    }

    private func changes(_ transaction: any ReadTransaction, after token: HistoryToken) throws -> Changes {
        var trips: Set<UUID> = []
        try transaction.enumerateHistory(after: token) { found in
            guard author == nil || found.author == author else { return true }
            for change in found.changes where change.entity == LivingAccommodation.entity.name {
                switch change.kind {
                case .insert, .update:
                    if let trip = try transaction.model(LivingAccommodation.self, id: change.id)?.tripID {
                        trips.insert(trip)
                    }
                case .delete(let tombstone):
                    if case .uuid(let trip)? = tombstone["tripID"] { trips.insert(trip) }
                }
            }
            return true
        }
        let found = try trips.sorted { $0.uuidString < $1.uuidString }
            .compactMap { try transaction.model(Trip.self, id: $0) }
        return Changes(trips: found, isStartedOver: false)
    }

    private func everything(_ transaction: any ReadTransaction, isFirst: Bool) throws -> Changes {
        // Who looks for the first time has missed nothing: what is there is not news.
        guard !isFirst else { return Changes(trips: [], isStartedOver: false) }
        let trips = try transaction.fetch(FetchDescriptor<Trip>(predicate: #Predicate { !$0.accommodations.isEmpty }))
        return Changes(trips: trips, isStartedOver: true)
    }

    // MARK: The token

    private func position() throws -> Position? {
        guard FileManager.default.fileExists(atPath: file.path) else { return nil }
        do {
            return try JSONDecoder().decode(Position.self, from: try Data(contentsOf: file))
        } catch {
            throw HabitStoreError(
                .corrupt,
                "the file of the watch holds no token; remove it to begin anew",
                at: .init(path: file.path),
                underlying: error
            )
        }
    }

    private func remember(_ position: Position) throws {
        try JSONEncoder().encode(position).write(to: file, options: .atomic)
    }
}
