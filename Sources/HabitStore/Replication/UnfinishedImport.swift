import Foundation

/// The state of a store that an import fills in batches, until the last of them.
///
/// It replaces the state of a copy, with the role ``StoreRole/backfilling``: the store serves no one. It is also the fence: each transaction of the
/// import checks that this state is its own.
@_spi(Engines) public struct UnfinishedImport: Codable, Equatable, Sendable {
    private enum CodingKeys: String, CodingKey {
        case run = "import"
    }

    /// The run of the import.
    private let run: UUID

    /// Of a new run.
    public init() { run = UUID() }

    /// - Returns: nil for what is not an import's: the state of a copy.
    public init?(state: String?) {
        guard let state, let decoded = try? JSONDecoder().decode(Self.self, from: Data(state.utf8)) else { return nil }
        self = decoded
    }

    /// The text in the store.
    public var state: String { "{\"\(CodingKeys.run.stringValue)\":\"\(run.uuidString)\"}" }
}
