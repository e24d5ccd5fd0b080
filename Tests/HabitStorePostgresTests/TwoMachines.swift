import Foundation
@_spi(Engines) import HabitStore
@_spi(Engines) import HabitStorePostgres
import HabitStoreRollout
import PostgresTesting
import RolloutTesting

/// One user on two machines: each has a root and flag files of its own, and nothing is shared but the servers.
struct TwoMachines {
    /// The engine that the user comes from, and the one that the user goes to.
    let pair: EnginePair
    let a: StagedUser
    let b: StagedUser

    /// - Parameter old: the engine that the user comes from; nil for a server.
    init(from old: (any EngineProvider)? = nil) throws {
        let store = UUID().uuidString
        let first = try old ?? FolderServer(name: "postgres-eu", server: TestServer.place().server, store: store)
        let second = try FolderServer(name: "postgres-us", server: TestServer.otherURI(), store: store)
        let engines = try Engines([first, second])
        pair = EnginePair(old: first.name, new: second.name)
        a = try StagedUser(pair, engines)
        b = try StagedUser(pair, engines)
    }

    /// Has the other machine accept the new store, as if the one with the old store were lost.
    func acceptElsewhere() throws {
        _ = try b.stores().adopt(
            pair.new,
            for: "alice",
            by: "a test",
            because: "it was taken for lost",
            isOtherMachineLost: true
        )
    }

    /// Has the flag files of both want a stage.
    func want(_ stage: Stage) throws {
        try a.want(stage.rawValue)
        try b.want(stage.rawValue)
    }
}
