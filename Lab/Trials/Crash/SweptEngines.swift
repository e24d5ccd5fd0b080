import ArgumentParser
import Foundation
@_spi(Engines) import HabitStore
import HabitStorePostgres
import HabitStoreRollout
import PostgresTesting
import StandardEngines

/// Options for the engines between which a sweep moves its user.
struct SweptEngineOptions: ParsableArguments {
    @Option(
        parsing: .upToNextOption,
        help:
            "Connection URIs of two servers; the user moves between them and between a server and a local engine."
    )
    var servers: [String] = []

    func validate() throws {
        guard servers.isEmpty || servers.count == 2 else { throw ValidationError("--servers takes two URIs") }
    }

    var engines: SweptEngines { SweptEngines(servers: servers) }
}

/// The engines between which a sweep moves its user.
struct SweptEngines {
    /// The connection URIs of two servers, or empty.
    var servers: [String] = []

    private static let names: [EngineName] = ["server-1", "server-2"]

    /// The engines. Stores on a server are named after users' folders.
    var engines: Engines {
        get throws {
            let servers = try zip(Self.names, servers).map { try FolderServer(name: $0, server: $1) }
            return try Engines(Engines.standard.providers + servers)
        }
    }

    /// The old and new engines of users. For every second pair, from the first on, the way back from `complete` replays the history; for the others
    /// it is a
    /// copy.
    var pairs: [EnginePair] {
        servers.isEmpty
            ? EngineName.standard.map { EnginePair(old: $0, new: $0.otherStandard) }
            : [
                EnginePair(old: Self.names[0], new: Self.names[1]), EnginePair(old: Self.names[1], new: Self.names[0]),
                EnginePair(old: .sqlite, new: Self.names[0]), EnginePair(old: Self.names[1], new: .lmdb),
            ]
    }

    /// Whether the only way back from `complete` is a copy.
    func forgets(_ pair: EnginePair) -> Bool { pairs.firstIndex(of: pair).map { !$0.isMultiple(of: 2) } ?? false }

    /// The crash points that some process reaches.
    var crashPoints: [String] { CrashPoint.all + (servers.isEmpty ? [] : CrashPoint.shared) }

    /// A child's arguments.
    var arguments: [String] { servers.isEmpty ? [] : ["--servers"] + servers }

    /// Prepares the servers.
    func prepare() throws { for server in servers { try PostgresServer(server).prepare() } }

    /// Copies the user's folder and stores on servers.
    func copy(_ root: URL, to target: URL) throws {
        try FileManager.default.copyItem(at: root, to: target)
        for provider in try engines.providers where provider.isShared {
            let places = try [root, target].map {
                provider.place(
                    ofUser: SweptUser.name,
                    inFolder: try UserDirectory(root: $0.path, user: SweptUser.name).path
                )
            }
            guard try provider.identity(at: places[0]) != nil else { continue }
            try provider.copy(places[0], to: places[1])
        }
    }
}
