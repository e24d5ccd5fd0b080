import Foundation
import Synchronization
import Testing

@testable import FeatureFlags

/// What people and tools do to flag files, with and without the system's notifications.
@Suite(.serialized) struct WatcherTests {
    enum Mode: CaseIterable {
        case notifications
        case polling

        var options: WatchOptions {
            switch self {
            // The poll is too slow to be what notices a change here.
            case .notifications: WatchOptions(pollMilliseconds: 60_000, settleMilliseconds: 10)
            case .polling: WatchOptions(usesNotifications: false, pollMilliseconds: 5, settleMilliseconds: 5)
            }
        }
    }

    private func provider(_ file: URL, _ mode: Mode, sentinel: URL? = nil) throws -> FlagProvider {
        let provider = try FlagProvider(
            sources: [FlagSource(path: file.path)],
            killSwitch: KillSwitchTriggers(flagKey: "kill", sentinelPath: sentinel?.path),
            logger: silentLogger
        )
        provider.startWatching(mode.options)
        return provider
    }

    private func waitUntil(
        _ what: String,
        sourceLocation: SourceLocation = #_sourceLocation,
        _ condition: () -> Bool
    ) {
        let deadline = ContinuousClock.now + .seconds(20)
        while !condition() {
            guard ContinuousClock.now < deadline else {
                Issue.record("did not happen: \(what)", sourceLocation: sourceLocation)
                return
            }
            usleep(500)
        }
    }

    private func expect(_ value: String, _ provider: FlagProvider, sourceLocation: SourceLocation = #_sourceLocation) {
        waitUntil("the value \(value)", sourceLocation: sourceLocation) {
            provider.string("f", default: "caller").value == value
        }
    }

    @Test(arguments: Mode.allCases)
    func aFileCanBeWrittenInPlaceAndRenamedOver(mode: Mode) throws {
        try withTemporaryDirectory { directory in
            let file = directory.appendingPathComponent("flags.json")
            try write(flagFile("0"), to: file)
            let provider = try provider(file, mode)
            defer { provider.stopWatching() }
            for round in 1...5 {
                let handle = try FileHandle(forWritingTo: file)
                try handle.truncate(atOffset: 0)
                try handle.write(contentsOf: Data(flagFile("in place \(round)").utf8))
                // Not closed: only the pause shows that the write is complete.
                expect("in place \(round)", provider)
                try handle.close()
                let other = directory.appendingPathComponent("other.json")
                try write(flagFile("renamed \(round)"), to: other)
                try #require(rename(other.path, file.path) == 0)
                expect("renamed \(round)", provider)
            }
        }
    }

    @Test(arguments: Mode.allCases)
    func aFileCanBeDeletedAndMadeAnewAndADirectoryCanTakeItsPlace(mode: Mode) throws {
        try withTemporaryDirectory { directory in
            let file = directory.appendingPathComponent("flags.json")
            let provider = try provider(file, mode)
            defer { provider.stopWatching() }
            for round in 1...4 {
                try write(flagFile("new \(round)"), to: file)
                expect("new \(round)", provider)
                try FileManager.default.removeItem(at: file)
                waitUntil("deletion") { provider.state.sources[0].error?.code == .fileNotFound }
                try FileManager.default.createDirectory(at: file, withIntermediateDirectories: false)
                waitUntil("directory") { provider.state.sources[0].error?.code == .notAFile }
                #expect(provider.string("f", default: "caller").value == "new \(round)")
                try FileManager.default.removeItem(at: file)
                try FileManager.default.createSymbolicLink(atPath: file.path, withDestinationPath: "flags.json")
                waitUntil("loop") { provider.state.sources[0].error?.code == .fileUnreadable }
                try FileManager.default.removeItem(at: file)
            }
        }
    }

    /// As in Kubernetes: the file is a link into `..data`, which is a link to a directory that is swapped.
    @Test(arguments: Mode.allCases)
    func anyLinkOfTheChainCanBeSwapped(mode: Mode) throws {
        try withTemporaryDirectory { directory in
            let fileManager = FileManager.default
            func version(_ name: String) throws {
                let folder = directory.appendingPathComponent(name)
                try fileManager.createDirectory(at: folder, withIntermediateDirectories: false)
                try write(flagFile(name), to: folder.appendingPathComponent("flags.json"))
            }
            func link(_ name: String, to target: String) throws {
                let temporary = directory.appendingPathComponent("temporary").path
                try fileManager.createSymbolicLink(atPath: temporary, withDestinationPath: target)
                try #require(rename(temporary, directory.appendingPathComponent(name).path) == 0)
            }
            try version("..v0")
            try link("..data", to: "..v0")
            try link("flags.json", to: "..data/flags.json")
            let outside = directory.appendingPathComponent("mount")
            try fileManager.createSymbolicLink(at: outside, withDestinationURL: directory)
            let provider = try provider(outside.appendingPathComponent("flags.json"), mode)
            defer { provider.stopWatching() }
            for round in 1...5 {
                try version("..v\(round)")
                try link("..data", to: "..v\(round)")
                expect("..v\(round)", provider)
                try fileManager.removeItem(at: directory.appendingPathComponent("..v\(round - 1)"))
            }
            try version("elsewhere")
            try link("flags.json", to: "elsewhere/flags.json")
            expect("elsewhere", provider)
            try write(flagFile("in place"), to: directory.appendingPathComponent("elsewhere/flags.json"))
            expect("in place", provider)
        }
    }

    @Test(arguments: Mode.allCases)
    func directoriesOnTheWayCanComeAndGo(mode: Mode) throws {
        try withTemporaryDirectory { directory in
            let fileManager = FileManager.default
            let folder = directory.appendingPathComponent("a/b")
            let file = folder.appendingPathComponent("flags.json")
            let provider = try provider(file, mode)
            defer { provider.stopWatching() }
            for round in 1...3 {
                try fileManager.createDirectory(at: folder, withIntermediateDirectories: true)
                try write(flagFile("\(round)"), to: file)
                expect("\(round)", provider)
                try fileManager.removeItem(at: directory.appendingPathComponent("a"))
                waitUntil("deletion") { provider.state.sources[0].error?.code == .fileNotFound }
            }
        }
    }

    /// The file exists only while it is read: its fingerprint before and after is that of a missing file, and the events of its directory end with
    /// the
    /// directory. Its content stayed in force.
    @Test(arguments: Mode.allCases)
    func aFileThatIsGoneAgainAfterItWasReadIsReportedAgain(mode: Mode) throws {
        try withTemporaryDirectory { directory in
            let folder = directory.appendingPathComponent("a")
            let file = folder.appendingPathComponent("flags.json")
            let reports = Atomic(0)
            let watcher = FlagFileWatcher(files: [file.path], options: mode.options, logger: silentLogger) { paths in
                guard reports.add(1, ordering: .relaxed).newValue == 1 else { return [:] }
                do {
                    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
                    try write(flagFile("short"), to: file)
                    let seen = FileFingerprint(file.path, followsLinks: true)
                    try FileManager.default.removeItem(at: folder)
                    return [file.path: seen]
                } catch {
                    Issue.record(error)
                    return [:]
                }
            }
            defer { watcher.stop() }
            waitUntil("a second report") { reports.load(ordering: .relaxed) > 1 }
        }
    }

    @Test(arguments: Mode.allCases)
    func aSentinelOfAnyKindIsSeen(mode: Mode) throws {
        try withTemporaryDirectory { directory in
            let fileManager = FileManager.default
            let sentinel = directory.appendingPathComponent("KILL")
            let provider = try provider(directory.appendingPathComponent("none.json"), mode, sentinel: sentinel)
            defer { provider.stopWatching() }
            let kinds: [(String, () throws -> Void)] = [
                ("file", { try Data().write(to: sentinel) }),
                ("directory", { try fileManager.createDirectory(at: sentinel, withIntermediateDirectories: false) }),
                (
                    "dangling link",
                    { try fileManager.createSymbolicLink(atPath: sentinel.path, withDestinationPath: "x") }
                ),
                ("loop", { try fileManager.createSymbolicLink(atPath: sentinel.path, withDestinationPath: "KILL") }),
                ("pipe", { try #require(mkfifo(sentinel.path, 0o600) == 0) }),
                (
                    "no permission",
                    {
                        try Data().write(to: sentinel)
                        try #require(chmod(sentinel.path, 0) == 0)
                    }
                ),
            ]
            for (name, make) in kinds {
                #expect(provider.killSignal() == nil)
                try make()
                waitUntil("a \(name) appears") { provider.killSignal() == .sentinel(path: sentinel.path) }
                let atStart = try FlagProvider(
                    sources: [],
                    killSwitch: KillSwitchTriggers(sentinelPath: sentinel.path),
                    logger: silentLogger
                )
                #expect(atStart.killSignal() != nil, "\(name)")
                try fileManager.removeItem(at: sentinel)
                waitUntil("a \(name) goes") { provider.killSignal() == nil }
            }
        }
    }

    @Test func aSentinelThatCannotBeLookedAtCounts() throws {
        try withTemporaryDirectory { directory in
            let loop = directory.appendingPathComponent("loop").path
            try FileManager.default.createSymbolicLink(atPath: loop, withDestinationPath: "loop")
            #expect(try SentinelFile(path: loop + "/KILL").isPresent)
            #expect(try SentinelFile(path: directory.path + "/" + String(repeating: "x", count: 5000)).isPresent)
            #expect(try !SentinelFile(path: directory.path + "/none/KILL").isPresent)
            #expect(throws: FlagError.self) { try SentinelFile(path: "") }
            #expect(throws: FlagError.self) { try SentinelFile(path: "a\0b") }
            guard geteuid() != 0 else { return }
            let locked = directory.appendingPathComponent("locked").path
            try #require(mkdir(locked, 0) == 0)
            #expect(try SentinelFile(path: locked + "/KILL").isPresent)
            try #require(chmod(locked, 0o700) == 0)
        }
    }

    /// The time from a change to the first evaluation that sees it.
    @Test func changesAreSeenWithinMilliseconds() throws {
        try withTemporaryDirectory { directory in
            let file = directory.appendingPathComponent("flags.json")
            let sentinel = directory.appendingPathComponent("KILL")
            try write(flagFile("start"), to: file)
            let provider = try provider(file, .notifications, sentinel: sentinel)
            defer { provider.stopWatching() }
            var durations: [Duration] = []
            for round in 0..<100 {
                let other = directory.appendingPathComponent("other.json")
                try write(flagFile("\(round)"), to: other)
                var start = ContinuousClock.now
                try #require(rename(other.path, file.path) == 0)
                while provider.string("f", default: "").value != "\(round)" { usleep(100) }
                durations.append(ContinuousClock.now - start)
                start = .now
                try Data().write(to: sentinel)
                while provider.killSignal() == nil { usleep(100) }
                durations.append(ContinuousClock.now - start)
                try FileManager.default.removeItem(at: sentinel)
                while provider.killSignal() != nil { usleep(100) }
            }
            durations.sort()
            // Other tests run at the same time: this only distinguishes notifications from the poll, which takes a minute.
            print("changes seen: p50 \(durations[100]), p99 \(durations[197])")
            #expect(durations[100] < .seconds(30))
        }
    }
}
