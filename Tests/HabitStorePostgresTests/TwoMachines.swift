import Foundation
@_spi(Engines) import HabitStore
@_spi(Engines) import HabitStorePostgres
import HabitStoreRollout
import PostgresTesting
import RolloutTesting

/// One user on two machines: each has its own root and flag files, and they share only the servers.
struct TwoMachines {
    /// The user's old and new engines.
    let pair: EnginePair
    let a: StagedUser
    let b: StagedUser

    /// - Parameter old: the user's old engine; nil for a server.
    init(from old: (any EngineProvider)? = nil) throws {
        let test = UUID().uuidString
        let first = try old ?? FolderServer(name: "postgres-eu", server: TestServer.place().server, test: test)
        let second = try FolderServer(name: "postgres-us", server: TestServer.otherURI(), test: test)
        let engines = try Engines([first, second])
        pair = EnginePair(old: first.name, new: second.name)
        a = try StagedUser(pair, engines)
        b = try StagedUser(pair, engines)
    }

    /// Lets the other machine accept the new store, as if the one with the old store were lost.
    func acceptElsewhere() throws {
        _ = try b.stores().adopt(
            pair.new,
            for: "alice",
            by: "a test",
            because: "it was taken for lost",
            isOtherMachineLost: true
        )
    }

    /// Sets the stage in both flag files.
    func want(_ stage: Stage) throws {
        try a.want(stage.rawValue)
        try b.want(stage.rawValue)
    }
}
