import Foundation
import HabitStore

/// Finds the trips whose accommodation was added, changed or removed since the last look, from the store's history.
///
/// The position is kept in a file, as a token: it means the same in each store of a user, so a rollout from one engine to another changes nothing for
/// the watch.
public struct AccommodationWatch: Sendable {
    /// The result of a look.
    public struct Changes: Sendable, Equatable {
        /// The changed trips, ordered by identifier, without deleted ones.
        public let trips: [Trip]
        /// Whether the history no longer reached back to the token, or was another store's: all trips with an accommodation count as changed then.
        public let isStartedOver: Bool
    }

    private struct Position: Codable {
        /// Tokens are comparable only within a lineage.
        let lineage: UUID
        let token: HistoryToken
    }

    private let file: URL
    private let author: String?

    /// A watch that continues where the one with the same file stopped.
    ///
    /// - Parameters:
    ///   - path: the file of the token, which the first look creates.
    ///   - author: whose changes to look for; nil for all authors'.
    public init(path: String, author: String? = nil) {
        file = URL(fileURLWithPath: path)
        self.author = author
    }

    /// Passes the changed trips to `handle`, and records that when it returns. If `handle` throws or the process ends first, the next look finds them
    /// again.
    ///
    /// - Throws: ``HabitStoreError/Code/corrupt`` for a file without a token; errors of the store and of `handle`.
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
        // The first look has missed nothing: the existing trips are not news.
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
