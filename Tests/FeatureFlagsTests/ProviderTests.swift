import Foundation
import Logging
import Synchronization
import Testing

@testable import FeatureFlags

/// A file with one flag `f`, whose value is the text.
func flagFile(_ value: String, key: String = "f") -> String {
    #"{"flags": {"\#(key)": {"state": "ENABLED", "variants": {"v": "\#(value)"}, "defaultVariant": "v"}}}"#
}

func write(_ text: String, to url: URL) throws { try Data(text.utf8).write(to: url) }

/// A logger without output.
let silentLogger = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })

@Suite struct ProviderTests {
    private func provider(
        _ paths: [String],
        onEvent: @escaping @Sendable (FlagProviderEvent) -> Void = { _ in }
    ) throws -> FlagProvider {
        try FlagProvider(
            sources: paths.map { FlagSource(path: $0) },
            configuration: testConfiguration,
            logger: silentLogger,
            onEvent: onEvent
        )
    }

    @Test func laterFilesLieOverEarlierOnes() throws {
        try withTemporaryDirectory { directory in
            let first = directory.appendingPathComponent("first.json")
            let second = directory.appendingPathComponent("second.yaml")
            let good = #""state": "ENABLED", "variants": {"a": "A", "b": "B"}"#
            try write(
                """
                {"metadata": {"flagSetId": "first", "only": 1},
                 "flags": {"both": {\(good), "defaultVariant": "a"}, "first": {\(good), "defaultVariant": "a"},
                           "bad": {\(good), "defaultVariant": "a"}}}
                """,
                to: first
            )
            try write(
                """
                metadata: {flagSetId: second}
                flags:
                  both: {state: ENABLED, variants: {a: A, b: B}, defaultVariant: b}
                  bad: {state: ENABLED, variants: {a: A, b: B}, defaultVariant: c}
                """,
                to: second
            )
            let provider = try provider([first.path, second.path])
            #expect(provider.state.status == .ready)
            #expect(provider.string("both", default: "").value == "B")
            #expect(provider.string("both", default: "").flagMetadata == ["flagSetId": "second"])
            #expect(provider.string("first", default: "").value == "A")
            #expect(provider.string("first", default: "").flagMetadata == ["flagSetId": "first", "only": 1])
            #expect(provider.string("bad", default: "caller").errorCode == .parseError)
            #expect(provider.string("none", default: "").flagMetadata == ["flagSetId": "second", "only": 1])
            #expect(provider.snapshot.quarantined.keys.sorted() == ["bad"])
        }
    }

    /// Code that acts on flags refreshes them first: the files may not be watched, or the process may have been stopped.
    @Test func aRefreshSeesWhatNobodyHasToldOf() throws {
        try withTemporaryDirectory { directory in
            let (file, sentinel) = (
                directory.appendingPathComponent("f.json"), directory.appendingPathComponent("kill")
            )
            try write(flagFile("one"), to: file)
            let events = Mutex<[FlagProviderEvent]>([])
            let provider = try FlagProvider(
                sources: [FlagSource(path: file.path)],
                killSwitch: KillSwitchTriggers(sentinelPath: sentinel.path),
                configuration: testConfiguration,
                logger: silentLogger
            ) { event in events.withLock { $0.append(event) } }
            func told() -> [FlagProviderEvent] {
                events.withLock { events in
                    defer { events = [] }
                    return events
                }
            }
            _ = told()
            provider.refresh()
            #expect(told() == [])
            // The same length, within the same tick of the clock.
            try write(flagFile("two"), to: file)
            provider.refresh()
            #expect(provider.string("f", default: "").value == "two")
            #expect(told() == [.configurationChanged(path: file.path, keys: ["f"])])
            try write("", to: sentinel)
            try write(flagFile("six"), to: file)
            provider.refresh()
            #expect(told() == [.sentinelChanged(isPresent: true)], "a kill waits for no flag file")
            try FileManager.default.removeItem(at: sentinel)
            provider.refresh()
            #expect(provider.killSignal() == nil)
            #expect(provider.string("f", default: "").value == "six")
            try FileManager.default.removeItem(at: file)
            provider.refresh()
            #expect(provider.state.status == .stale)
            #expect(provider.string("f", default: "").value == "six")
        }
    }

    /// A file that is read while it is being written may be valid and mean something that its author did not intend.
    @Test func aRefreshLetsAFileComeToRest() throws {
        try withTemporaryDirectory { directory in
            let file = directory.appendingPathComponent("flags.yaml")
            let good = "flags:\n  f: {state: ENABLED, variants: {a: A, b: B}, defaultVariant: "
            try write(good + "a}\n", to: file)
            let provider = try provider([file.path])
            try write(good + "b}\n", to: file)
            let isOver = Atomic<Bool>(false)
            let writer = Thread {
                // In place, comment by comment, until the other thread has read it.
                for number in 0..<20 {
                    Thread.sleep(forTimeInterval: 0.002)
                    let handle = FileHandle(forWritingAtPath: file.path)
                    handle?.seekToEndOfFile()
                    handle?.write(Data("# \(number)\n".utf8))
                    handle?.closeFile()
                }
                isOver.store(true, ordering: .releasing)
            }
            let start = ContinuousClock.now
            writer.start()
            provider.refresh()
            #expect(ContinuousClock.now - start >= .milliseconds(WatchOptions().settleMilliseconds))
            while !isOver.load(ordering: .acquiring) { Thread.sleep(forTimeInterval: 0.001) }
            provider.refresh()
            #expect(provider.string("f", default: "").value == "B")
        }
    }

    @Test func aFileThatCannotBeReadLeavesItsLastGoodFlagsInForce() throws {
        try withTemporaryDirectory { directory in
            let file = directory.appendingPathComponent("flags.json")
            let events = Mutex<[FlagProviderEvent]>([])
            let provider = try provider([file.path]) { event in events.withLock { $0.append(event) } }
            #expect(provider.state.status == .error)
            #expect(provider.state.sources[0].status == .unavailable)
            #expect(provider.string("f", default: "caller").value == "caller")
            #expect(provider.string("f", default: "caller").errorCode == .providerNotReady)

            try write(flagFile("one"), to: file)
            provider.reload()
            #expect(provider.state.status == .ready)
            let digest = provider.state.sources[0].digest
            for broken in ["", "{", "[1, 2", "null", "{}", #"{"flags": 5}"#, "\u{0}", "flags: {f: [}"] {
                try write(broken, to: file)
                provider.reload()
                let state = provider.state
                #expect(state.status == .stale, "\(broken)")
                #expect(state.sources[0].status == .lastGood)
                #expect(state.sources[0].error?.code == .parseError)
                #expect(state.sources[0].digest == digest)
                #expect(provider.string("f", default: "caller").value == "one")
                #expect(provider.string("f", default: "caller").reason == .static)
            }
            try FileManager.default.removeItem(at: file)
            provider.reload()
            #expect(provider.state.sources[0].error?.code == .fileNotFound)
            #expect(provider.string("f", default: "caller").value == "one")

            try write(flagFile("one"), to: file)
            provider.reload()
            #expect(provider.state.status == .ready)
            let path = file.path
            events.withLock { events in
                #expect(events.first.map { if case .error = $0 { true } else { false } } == true)
                #expect(events.contains(.configurationChanged(path: path, keys: ["f"])))
                #expect(events.contains { if case .stale(path, _) = $0 { true } else { false } })
                #expect(events.last == .ready)
            }
        }
    }

    @Test func theSameErrorIsToldOnce() throws {
        try withTemporaryDirectory { directory in
            let file = directory.appendingPathComponent("flags.json")
            let box = Counter()
            let provider = try provider([file.path]) { _ in box.add() }
            for _ in 0..<3 { provider.reload() }
            #expect(box.value == 1)
            try write("{", to: file)
            for _ in 0..<3 { provider.reload() }
            #expect(box.value == 2)
        }
    }

    /// If a file was briefly missing, or if a tool rewrote it, the provider reported that all flags had changed, and programs evaluated everything
    /// again. Now
    /// changes are reported by key, and not at all if nothing changed.
    @Test func aChangeNamesTheKeysAndNoChangeIsNone() throws {
        try withTemporaryDirectory { directory in
            let file = directory.appendingPathComponent("flags.json")
            let events = Mutex<[FlagProviderEvent]>([])
            let provider = try provider([file.path]) { event in events.withLock { $0.append(event) } }
            func changes(_ text: String) throws -> [[String]] {
                try write(text, to: file)
                return try take()
            }
            func take() throws -> [[String]] {
                provider.reload()
                return events.withLock { list in
                    defer { list = [] }
                    return list.compactMap {
                        if case .configurationChanged(file.path, let keys) = $0 { keys } else { nil }
                    }
                }
            }
            func flag(_ value: Int, _ targeting: String = "{}") -> String {
                #"{"state": "ENABLED", "variants": {"a": \#(value)}, "defaultVariant": "a", "targeting": \#(targeting)}"#
            }
            func text(_ flags: [String], evaluator: String = "1", version: String = "1") -> String {
                #"{"metadata": {"version": "\#(version)"}, "flags": {\#(flags.joined(separator: ", "))}, "#
                    + #""$evaluators": {"e": {"==": [{"var": "x"}, \#(evaluator)]}}}"#
            }
            let (one, two) = (#""one": \#(flag(1))"#, #""two": \#(flag(2))"#)
            let shared = #""shared": \#(flag(3, #"{"if": [{"$ref": "e"}, "a"]}"#))"#
            let first = text([one, two, shared])
            #expect(try changes(first) == [["one", "shared", "two"]])
            #expect(try changes(first).isEmpty)
            #expect(try changes(first.replacing(", ", with: " ,\n  ")).isEmpty)
            #expect(try changes(text([shared, two, one])).isEmpty)
            #expect(
                provider.state.sources[0].digest == FileDigest.hexadecimal(of: Array(text([shared, two, one]).utf8))
            )
            #expect(try changes(text([#""one": \#(flag(9))"#, two, shared])) == [["one"]])
            #expect(try changes(text([one, shared])) == [["one", "two"]])
            #expect(try changes(text([one, shared], evaluator: "2")) == [["shared"]])
            #expect(try changes(text([one, shared], evaluator: "2", version: "2")) == [["one", "shared"]])
            // Briefly missing, then briefly broken.
            let last = text([one, shared], evaluator: "2", version: "2")
            try FileManager.default.removeItem(at: file)
            #expect(try take().isEmpty)
            #expect(try changes(last).isEmpty)
            #expect(try changes("{").isEmpty)
            #expect(provider.state.status == .stale)
            #expect(try changes(last).isEmpty)
            #expect(provider.state.status == .ready)
            #expect(provider.int("one", default: 0).value == 1)
        }
    }

    @Test func theDigestIsThatOfTheBytes() throws {
        #expect(
            FileDigest.hexadecimal(of: Array("abc".utf8))
                == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        )
        #expect(
            FileDigest.hexadecimal(of: [])
                == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        )
        #expect(
            FileDigest.hexadecimal(of: [UInt8](repeating: UInt8(ascii: "a"), count: 1_000))
                == "41edece42d63e8d9bf515a9ba6932e1c20cbc9f5a5d134645adb5db1b9737ea3"
        )
    }

    /// A reader must never see a released snapshot: it would crash, or give a wrong answer.
    @Test func snapshotsAreReplacedUnderReaders() throws {
        func text(_ round: Int) -> String { flagFile("value number \(round), longer than a small text") }
        let reference = SnapshotReference(try makeSnapshot(text(0)))
        let (started, isDone, ended, wrong) = (Counter(), Counter(), Counter(), Counter())
        for _ in 0..<3 {
            Thread.detachNewThread {
                started.add()
                while isDone.value == 0 {
                    let value = reference.load().string("f", default: "caller").value
                    if !value.hasPrefix("value number ") { wrong.add() }
                }
                ended.add()
            }
        }
        while started.value < 3 { usleep(100) }
        for round in 1...1000 { reference.store(try makeSnapshot(text(round))) }
        isDone.add()
        while ended.value < 3 { usleep(100) }
        #expect(wrong.value == 0)
        #expect(reference.load().string("f", default: "").value.contains("1000"))
    }
}

/// A counter that several threads increment.
final class Counter: Sendable {
    private let count = Atomic<Int>(0)

    var value: Int { count.load(ordering: .acquiring) }

    func add() { count.add(1, ordering: .acquiringAndReleasing) }
}
