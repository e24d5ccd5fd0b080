import Foundation

/// What an import leaves in a store that it fills in batches, until the last of them.
///
/// It stands where a copy keeps its state, with the role ``StoreRole/backfilling``: nobody is served from the store. It is the
/// fence, too: whoever fills the store proves in each transaction that what stands there is its own.
@_spi(Engines) public struct UnfinishedImport: Codable, Equatable, Sendable {
    private enum CodingKeys: String, CodingKey {
        case run = "import"
    }

    /// The run that goes on there.
    private let run: UUID

    /// Of a new run.
    public init() { run = UUID() }

    /// - Returns: nil for what is not an import's: the state of a copy.
    public init?(state: String?) {
        guard let state, let decoded = try? JSONDecoder().decode(Self.self, from: Data(state.utf8)) else { return nil }
        self = decoded
    }

    /// What is kept in the store.
    public var state: String { "{\"\(CodingKeys.run.stringValue)\":\"\(run.uuidString)\"}" }
}
