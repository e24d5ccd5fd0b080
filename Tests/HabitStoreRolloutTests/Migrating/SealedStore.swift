import Foundation
@_spi(Engines) import HabitStore
import StandardEngines
import Synchronization
import Testing
import Trials

@testable import HabitStoreRollout

/// A store whose closed file no engine recognises, as with encryption: its first bytes are inverted.
final class SealedStore: InterceptingStore {
    let base: any UserStoreBackend
    private let address: StoreAddress
    private let isOpen = Mutex(true)

    init(_ address: StoreAddress, _ access: StoreAccess, _ schema: Schema) throws {
        self.address = address
        if FileManager.default.fileExists(atPath: address.path) { try Self.toggleSeal(address.path) }
        do {
            base = try address.open(access, schema: schema)
        } catch {
            try Self.toggleSeal(address.path)
            throw error
        }
    }

    /// Seals or unseals the file of a closed store.
    static func toggleSeal(_ path: String) throws {
        let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
        defer { file.closeFile() }
        let head = try #require(try file.read(upToCount: 24))
        try file.seek(toOffset: 0)
        try file.write(contentsOf: Data(head.map { ~$0 }))
    }

    func close() {
        guard
            isOpen.withLock({ isOpen in
                defer { isOpen = false }
                return isOpen
            })
        else { return }
        base.close()
        do { try Self.toggleSeal(address.path) } catch { Issue.record(error) }
    }
}
