import Foundation
@_spi(Engines) import HabitStore
import HabitTracker
import Synchronization

/// The environment of a clause: a kind of store and a directory.
final class ContractBench: Sendable {
    let subject: StoreUnderTest
    private let directory: URL
    private let opened = Mutex<[any EngineBackedStore]>([])

    init(_ subject: StoreUnderTest) throws {
        self.subject = subject
        directory = FileManager.default.temporaryDirectory
            .appendingPathComponent("store-contract-\(UUID().uuidString)", isDirectory: true)
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    }

    /// Opens the store in a folder of the directory, or creates it.
    func open(
        _ schema: Schema,
        folder: String = "store",
        identity: UUID = UUID(),
        clock: @escaping @Sendable () -> Date = { Date() }
    ) throws -> any EngineBackedStore {
        let folder = directory.appendingPathComponent(folder, isDirectory: true)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let store = try subject.open(folder, schema, identity, clock)
        opened.withLock { $0.append(store) }
        return store
    }

    /// A new store with the built-in schema.
    func habits() throws -> any EngineBackedStore { try open(HabitSchema.current) }

    /// A new store with the kit's schema.
    func contract() throws -> any EngineBackedStore { try open(ContractSchema.schema) }

    /// Closes the opened stores and removes the directory.
    func clear() {
        for store in opened.withLock({ $0 }) { store.close() }
        do {
            try FileManager.default.removeItem(at: directory)
        } catch {
            FileHandle.standardError.write(Data("the directory of a clause could not be removed: \(error)\n".utf8))
        }
    }
}
