import Foundation
import HabitStoreLMDB
import HabitStorePostgres
import HabitStoreSQLite
import HabitStoreTesting
import PostgresTesting
import RolloutTesting
import Testing

/// The server on which faults are planted, if one was started.
enum PlantedServer {
    /// Whether the store on the server is the user's new or old one.
    enum Direction: String, CaseIterable {
        case toServer, fromServer

        /// The engines, if there is a server.
        var rollout: Result<RolloutUnderTest, any Error> {
            switch self {
            case .toServer: PlantedServer.fromSQLite
            case .fromServer: PlantedServer.toLMDB
            }
        }
    }

    private static let fromSQLite = Result { RolloutUnderTest(from: SQLiteProvider(), to: try provider()) }
    private static let toLMDB = Result { RolloutUnderTest(from: try provider(), to: LMDBProvider()) }

    /// A fault in the store of a user who moves in a direction.
    struct Case: CustomTestStringConvertible {
        let fault: PlantedFault
        let direction: Direction

        var testDescription: String { "\(fault.testDescription), \(direction.rawValue)" }
    }

    static var isThere: Bool { !StoreUnderTest.serverURIs.isEmpty }

    private static let sampleSize = 70

    /// `make planted-faults` tries everything, each `make test` a different sample.
    static let tried: [Case] = {
        let all = PlantedFault.onServer.flatMap { fault in
            Direction.allCases.map { Case(fault: fault, direction: $0) }
        }
        let isWhole = ProcessInfo.processInfo.environment["HABITSTORE_PLANTED_FAULTS"] != nil
        return isWhole ? all : Array(all.shuffled().prefix(sampleSize))
    }()

    private static func provider() throws -> FolderServer {
        let server = try #require(StoreUnderTest.serverURIs.first)
        try PostgresServer(server).prepare()
        return try FolderServer(server: server)
    }
}

extension Trait where Self == ConditionTrait {
    /// Skips the test if no server was started.
    static var needsServer: Self {
        .enabled(if: PlantedServer.isThere, "no PostgreSQL server was started; see scripts/postgres.sh")
    }
}
