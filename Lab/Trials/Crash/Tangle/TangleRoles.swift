import Foundation
@_spi(Engines) import HabitStore
import HabitStoreRollout
import HabitTracker
import StandardEngines

/// The roles in a user's stores, read without changing anything.
struct TangleRoles: CustomStringConvertible {
    private var found: [(engine: EngineName, role: StoreRole, epoch: Int, token: HistoryToken)] = []

    init(root: URL) throws {
        let files = try TangleFiles(root: root)
        for engine in EngineName.standard {
            let path = files.path + "/" + TangleFiles.name(engine)
            guard FileManager.default.fileExists(atPath: path) else { continue }
            do {
                let store = try StoreAddress(engine, path: path).open(.readOnly, schema: HabitSchema.current)
                defer { store.close() }
                let information = try store.replicaRead { try $0.information() }
                found.append((engine, information.role, information.epoch, information.token))
            } catch let error as HabitStoreError where error.code == .notAStore {
                // A process died while it created the file.
                continue
            }
        }
    }

    private var authoritative: [(engine: EngineName, role: StoreRole, epoch: Int, token: HistoryToken)] {
        found.filter { $0.role == .authoritative && $0.epoch > 0 }
    }

    /// The number of authoritative stores.
    var count: Int { authoritative.count }

    /// Whether both are authoritative in the same epoch: then it is undecided which one serves.
    var areTwo: Bool { count == 2 && authoritative[0].epoch == authoritative[1].epoch }

    var description: String {
        found.map { "\($0.engine.rawValue) \($0.role.rawValue) at epoch \($0.epoch), token \($0.token)" }
            .joined(separator: "; ")
    }
}
