import Foundation
@_spi(Engines) import HabitStore
import StandardEngines
import Synchronization

@_spi(Engines) @testable import HabitStoreRollout

/// More users than may be open at the same time.
final class PooledUsers: Sendable {
    let fixture: UserStoresFixture
    let stores: UserStores
    private let openings: Openings

    private final class Openings: Sendable {
        let counts = Mutex<[String: Int]>([:])
    }

    init(limit: Int, _ change: (inout RolloutOptions) -> Void = { _ in }) throws {
        fixture = try UserStoresFixture(.sqlite)
        let counted = Openings()
        openings = counted
        stores = try fixture.stores { options in
            options.maximumOpenUsers = limit
            options.logger.logLevel = .critical
            options.opener = { address, access, schema in
                counted.counts.withLock { $0[address.path, default: 0] += 1 }
                return try address.open(access, schema: schema)
            }
            change(&options)
        }
    }

    func store(_ user: String) throws -> UserStore { try stores.store(for: user) }

    /// How often a user's file was opened.
    func openings(of user: String) throws -> Int {
        let path = try fixture.address(.sqlite, user).path
        return openings.counts.withLock { $0[path, default: 0] }
    }

    /// The users under the root whose files this process has open, according to the system.
    func usersWithOpenFiles() throws -> Set<String> {
        let folder = URL(fileURLWithPath: fixture.root).resolvingSymlinksInPath().path + "/users/"
        let names = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
        let paths = names.compactMap {
            try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")
        }
        return Set(
            paths.filter { $0.hasPrefix(folder) }.compactMap { $0.dropFirst(folder.count).split(separator: "/").first }
                .map(String.init)
        )
    }
}
