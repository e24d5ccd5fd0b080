import ArgumentParser
import Foundation
@_spi(Engines) import HabitStore
import HabitStoreMapped
import HabitStorePostgres
import HabitStoreRollout
import HabitTracker
import Logging
import MappedTesting
import PostgresTesting
import StandardEngines

/// The user whose stages a sweep moves, with the stores open in this process.
struct SweptUser {
    static let name = "alice"

    /// The file that kills all users.
    let sentinel: String
    let flags: StageFlags
    let stores: UserStores
    let store: UserStore

    init(root: String, flags: StageFlags, options: RolloutOptions, engines: Engines = .standard) throws {
        sentinel = RolloutFlags.sentinelPath(root: root)
        self.flags = flags
        stores = try UserStores(
            root: root,
            flags: flags.path,
            engines: engines,
            schema: HabitSchema.current,
            options: options
        )
        store = try stores.store(for: Self.name)
    }

    /// Moves one stage forward through the gate.
    ///
    /// - Parameter tries: how often the gate is asked before the move is abandoned.
    /// - Returns: the reason for a failure; nil if the user has moved.
    func goForward(tries: Int = 20) throws -> String? {
        guard let next = try store.stage().next else { return nil }
        try flags.want(next)
        stores.reloadFlags()
        var missing = "the gate gave no decision"
        for _ in 0..<tries {
            // The gate also requires compared reads.
            for _ in 0..<4 { _ = try store.read { try $0.fetchCount(FetchDescriptor<Draft>()) } }
            guard let decision = try store.advance(to: next), !decision.isOpen else { return nil }
            missing = decision.reasons.map { "\($0)" }.joined(separator: "; ")
            Thread.sleep(forTimeInterval: 0.005)
        }
        return missing
    }

    /// Moves one stage back by hand.
    func goBack() throws {
        guard try store.stage() > .off else { return }
        try store.demote()
    }

    /// Moves one stage back with the flags.
    func goBackByFlags() throws {
        let stage = try store.stage()
        guard let before = Stage.allCases.last(where: { $0 < stage }) else { return }
        try flags.want(before)
        stores.reloadFlags()
        _ = try store.stage()
    }

    /// Pulls the kill switch for all users, or only in these flags.
    func kill(isForAll: Bool) throws {
        if isForAll {
            try Data().write(to: URL(fileURLWithPath: sentinel))
        } else {
            try flags.want(.init(isKilled: true))
        }
        stores.reloadFlags()
    }

    /// Re-arms the user.
    func rearm() throws {
        try? FileManager.default.removeItem(atPath: sentinel)
        try flags.want(.init())
        stores.reloadFlags()
        try stores.rearmRoot()
        try store.rearm(by: "the sweep")
    }
}

extension RolloutOptions {
    /// A lenient policy with short waits: the test concerns the order of the steps.
    static var sweep: RolloutOptions {
        var options = RolloutOptions()
        options.followsFlags = false
        options.advancesByItself = false
        options.gate.cleanShadowReads = 3
        options.gate.retentionSeconds = 0
        options.shadowReads.recordEvery = 3
        options.mirror.waitSeconds = 0.05
        options.mirror.copyChunk = 8
        options.mirror.copyPauseSeconds = 0.001
        options.mirror.retrySeconds = 0.005
        options.mirror.longestRetrySeconds = 0.05
        options.logger = Logger(label: "sweep") { _ in SwiftLogNoOpLogHandler() }
        return options
    }

    /// Waits too short for a stopped process, and copies in small pieces, so that they take long.
    static var concurrent: RolloutOptions {
        var options = sweep
        options.shadowReads.recordEvery = 2
        options.lockWaitSeconds = 2
        options.stepLimitSeconds = 0.5
        options.mirror.copyChunk = 25
        options.mirror.copyPauseSeconds = 0.002
        options.mirror.longestRetrySeconds = 0.1
        return options
    }
}

/// Options for the engines between which a sweep moves its user.
struct SweptEngineOptions: ParsableArguments {
    @Option(
        parsing: .upToNextOption,
        help:
            "Connection URIs of two servers; the user moves between them and between a server and a local engine."
    )
    var servers: [String] = []

    @Flag(help: "The user moves between an app's own SQLite file and the local engines.")
    var mapped = false

    func validate() throws {
        guard servers.isEmpty || servers.count == 2 else { throw ValidationError("--servers takes two URIs") }
        guard servers.isEmpty || !mapped else { throw ValidationError("--servers and --mapped exclude each other") }
    }

    var engines: SweptEngines { SweptEngines(servers: servers, isMapped: mapped) }
}

/// The engines between which a sweep moves its user.
struct SweptEngines {
    /// The connection URIs of two servers, or empty.
    var servers: [String] = []
    /// Whether one of the engines is an app's own file.
    var isMapped = false

    private static let names: [EngineName] = ["server-1", "server-2"]

    /// The engines. Stores on a server are named after users' folders.
    var engines: Engines {
        get throws {
            let servers = try zip(Self.names, servers).map { try FolderServer(name: $0, server: $1) }
            let files = isMapped ? [AppLayout(keys: .numbers).provider(HabitSchema.current)] : []
            return try Engines(Engines.standard.providers + servers + files)
        }
    }

    /// The old and new engines of users. For every second pair, from the first on, the way back from `complete` replays the history; for the others
    /// it is a
    /// copy.
    var pairs: [EnginePair] {
        if isMapped {
            return [
                EnginePair(old: .mapped, new: .lmdb), EnginePair(old: .mapped, new: .sqlite),
                EnginePair(old: .lmdb, new: .mapped),
            ]
        }
        guard !servers.isEmpty else { return EngineName.standard.map { EnginePair(old: $0, new: $0.otherStandard) } }
        return [
            EnginePair(old: Self.names[0], new: Self.names[1]), EnginePair(old: Self.names[1], new: Self.names[0]),
            EnginePair(old: .sqlite, new: Self.names[0]), EnginePair(old: Self.names[1], new: .lmdb),
        ]
    }

    /// Whether the engine's stores are on a server.
    func isShared(_ engine: EngineName) -> Bool { Self.names.contains(engine) }

    /// Whether the only way back from `complete` is a copy.
    func forgets(_ pair: EnginePair) -> Bool { pairs.firstIndex(of: pair).map { !$0.isMultiple(of: 2) } ?? false }

    /// The crash points that some process reaches.
    var crashPoints: [String] { CrashPoint.all + (servers.isEmpty ? [] : CrashPoint.shared) }

    /// A child's arguments.
    var arguments: [String] { (isMapped ? ["--mapped"] : []) + (servers.isEmpty ? [] : ["--servers"] + servers) }

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
