import Foundation
@_spi(Engines) import HabitStore
import ShadowVerifier

/// A store compared with itself (A/A): what a comparison finds then is a fault of the comparison, and nothing that it says of
/// two stores can be believed.
///
/// The store is copied, the copy is copied too, and the two are compared. Both are of one token whatever is written to the
/// store meanwhile.
struct SelfComparison {
    private let directory: UserDirectory
    private let folder: String
    private let engines: Engines

    /// Takes the place of copies that a killed process has left. The caller holds the lock of the user's self-comparisons.
    init(_ directory: UserDirectory, _ engines: Engines) throws {
        self.directory = directory
        self.engines = engines
        try Leftovers.remove(Leftovers.selfComparisons, in: directory, engines)
        folder = try Leftovers.selfComparisons.makeFolder(in: directory)
    }

    /// Compares a store with itself.
    ///
    /// - Parameters:
    ///   - open: opens a copy.
    ///   - compare: compares two stores.
    func run(
        _ store: any UserStoreBackend,
        _ engine: EngineName,
        open: (StoreAddress) throws -> any UserStoreBackend,
        compare: (any UserStoreBackend, any UserStoreBackend) throws -> VerificationReport
    ) throws -> VerificationReport {
        let addresses = try Leftovers.selfComparisons.copies.map {
            try engines.copied(as: $0, by: directory).address(engine, ofUser: directory.user, inFolder: folder)
        }
        // An engine may keep them elsewhere than in the folder, which is gone with what is in it.
        for address in addresses { try engines.discard(address) }
        return try run(store, addresses, open: open, compare: compare)
    }

    private func run(
        _ store: any UserStoreBackend,
        _ addresses: [StoreAddress],
        open: (StoreAddress) throws -> any UserStoreBackend,
        compare: (any UserStoreBackend, any UserStoreBackend) throws -> VerificationReport
    ) throws -> VerificationReport {
        try store.backup(to: addresses[0].path)
        CrashPoint.reach("selfComparison.copied")
        let copy = try open(addresses[0])
        defer { copy.close() }
        try copy.backup(to: addresses[1].path)
        let second = try open(addresses[1])
        defer { second.close() }
        return try compare(copy, second)
    }

    /// Removes the copies.
    func remove() throws { try Leftovers.remove(Leftovers.selfComparisons, in: directory, engines) }
}
