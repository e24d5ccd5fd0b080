import Foundation
@_spi(Engines) import HabitStore
import ShadowVerifier

/// Compares a store with itself (A/A). A difference here is a fault of the comparison, whose results about two stores cannot be trusted then.
///
/// The store is copied, the copy is copied, and the two copies are compared. Both are at the same token, whatever is written to the store meanwhile.
struct SelfComparison {
    private let directory: UserDirectory
    private let folder: String
    private let engines: Engines

    /// Replaces copies that a killed process left. The caller holds the lock of the user's self-comparisons.
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
        // An engine may keep the copies outside the folder, which the cleanup removed with its contents.
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

    func remove() throws { try Leftovers.remove(Leftovers.selfComparisons, in: directory, engines) }
}
