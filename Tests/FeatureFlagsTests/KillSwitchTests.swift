import Foundation
import HabitStoreTesting
import Testing

@testable import FeatureFlags

/// The kill switch's flag in damaged files, and its sentinel with any state of the files.
@Suite struct KillSwitchTests {
    private static let kill =
        #""kill": {"state": "ENABLED", "variants": {"on": true, "off": false}, "defaultVariant": "on"}"#
    private static let armed = kill.replacingOccurrences(
        of: #""defaultVariant": "on""#,
        with: #""defaultVariant": "off""#
    )
    private static let other = #"{"state": "ENABLED", "variants": {"v": "one"}, "defaultVariant": "v"}"#

    private func withProvider(
        _ name: String = "flags.json",
        _ body: (_ provider: FlagProvider, _ write: (String) throws -> Void) throws -> Void
    ) throws {
        try withTemporaryDirectory { directory in
            let file = directory.appendingPathComponent(name)
            let provider = try FlagProvider(
                sources: [FlagSource(path: file.path)],
                killSwitch: KillSwitchTriggers(
                    flagKey: "kill",
                    sentinelPath: directory.appendingPathComponent("KILL").path
                ),
                logger: silentLogger
            )
            try body(provider) { text in
                try Data(text.utf8).write(to: file)
                provider.reload()
            }
        }
    }

    @Test(
        arguments: [
            #"{"flags": {\#(kill), "a": {"state": "ENAB"#,
            #"{"flags": {\#(kill)"#,
            #"{"flags": {\#(kill)}} trailing"#,
            #"{"flags": {"a": {"state": "ENABLED",, }, \#(kill)}}"#,
            #"{"flags": {"a": {"state": "ENABLED", "variants": }, \#(kill)}}"#,
            #"{"flags": {"a": "not closed, \#(kill)}}"#,
            #"{"flagz": {\#(kill)}}"#,
            #"<<<<<<< HEAD {"flags": {\#(kill)}}"#,
            #"{"flags": {"kill": {"state": "ENAB, \#(kill)}}"#,
            #"{"flags": [{"key": "a", {, {"key": "kill", "state": "ENABLED", "variants": {"on": true}, "defaultVariant": "on"}]}"#,
            #"{"flags": [{"state": "ENABLED", "variants": {"on": true}, "defaultVariant": "on", "key" : "kill"}, {"#,
            #"{"flags": {"kill" : {"state": "ENABLED", "variants": {"on": true}, "targeting": {"if": [{"$ref": "r"}, "on"]}}},"#
                + #" "$evaluators": {"r": {"!": false}}"#,
        ]
    )
    func theFlagKillsWheneverItsOwnDefinitionCanBeRead(text: String) throws {
        try withProvider { provider, write in
            try write(text)
            #expect(provider.state.sources[0].error?.code == .parseError)
            #expect(provider.killSignal() == .flag(key: "kill", variant: "on"))
            #expect(provider.state.sources[0].salvagedKillFlags == ["kill"])
            #expect(provider.boolean("kill", default: false).value)
            #expect(provider.string("a", default: "caller").value == "caller")
            // A valid file ends it.
            try write(#"{"flags": {\#(Self.armed)}}"#)
            #expect(provider.killSignal() == nil)
        }
    }

    @Test(
        arguments: [
            // Cut off within the definition, or an invalid definition.
            #"{"flags": {"kill": {"state": "ENABLED", "variants": {"on": true}, "defaultVariant": "on""#,
            #"{"flags": {"kill": {"state": "ENABLED", "variants": {"on": true}, "defaultVariant": "onn"}"#,
            #"{"flags": {"kill": {"state": "ENABLED", "variants": {"on": "true"}, "defaultVariant": "on"}"#,
            #"{"flags": {"kill": {"variants": {"on": true}, "defaultVariant": "on"}"#,
            #"{"flags": {"kill": {"state": "ENABLED", "variants": {"on": true}, "targeting": {"if": [{"$ref": "x"}, "on"]}},"#,
            // Not on, or another name.
            #"{"flags": {\#(armed), "#, #"{"flags": {"kill2": {}, "notkill": {"#,
            #"{"flags": {\#(kill.replacingOccurrences(of: "ENABLED", with: "DISABLED")), "#,
            // Within a description.
            #"{"flags": {"a": {"metadata": {"x": "\"kill\": {\"state\": \"ENABLED\", \"variants\": {\"on\": true}}"}}, "#,
            // The last definition counts, as in a complete file.
            #"{"flags": {\#(kill), \#(armed), "#,
            "", "{", #"{"kill": "#, #"{"kill""#,
        ]
    )
    func whatIsNotAWholeDefinitionThatKillsDoesNot(text: String) throws {
        try withProvider { provider, write in
            try write(text)
            #expect(provider.killSignal() == nil)
            #expect(provider.boolean("kill", default: false).value == false)
        }
    }

    /// Only a complete file ends a kill.
    @Test func aDamagedFileNeverEndsAKill() throws {
        try withProvider { provider, write in
            try write(#"{"flags": {\#(Self.kill), "a": \#(Self.other)}}"#)
            #expect(provider.killSignal() != nil)
            for damaged in [
                "", "{", #"{"flags": {\#(Self.armed), "a": {"#, #"{"flags": {"kill": {"state": "DISABLED"}}, "#,
                // The file is complete here, but the flag's definition is invalid.
                #"{"flags": {"kill": {"state": "ENABLED", "variants": {"on": true}, "defaultVariant": "off"}}}"#,
                #"{"flags": {"kill": 5}}"#, #"{"flags": {"kill": {"state": "DISABLED"}}}"#,
            ] {
                try write(damaged)
                #expect(provider.killSignal() == .flag(key: "kill", variant: "on"), "\(damaged)")
            }
            #expect(provider.state.sources[0].retainedKillFlags == ["kill"])
            try write(#"{"flags": {}}"#)
            #expect(provider.killSignal() == nil)
        }
    }

    @Test func aDamagedFileCanKillWhatTheLastGoodOneDidNot() throws {
        try withProvider { provider, write in
            try write(#"{"flags": {\#(Self.armed), "a": \#(Self.other)}}"#)
            #expect(provider.killSignal() == nil)
            try write(#"{"flags": {\#(Self.kill), "a": {"#)
            #expect(provider.killSignal() != nil)
            #expect(provider.string("a", default: "caller").value == "one")
            #expect(provider.string("kill", default: "caller").errorCode == .typeMismatch)
        }
    }

    /// A kill that was set in a file with an error ended if the next error made the definition unreadable, or if the file was briefly missing: the
    /// flag
    /// returned to its value in the last valid file.
    @Test func whatADamagedFilePulledStaysPulledUntilTheFlagIsDefinedWell() throws {
        try withProvider { provider, write in
            for ending in [Self.armed, #""b": \#(Self.other)"#] {
                try write(#"{"flags": {\#(Self.armed), "a": \#(Self.other)}}"#)
                try write(#"{"flags": {\#(Self.kill), "a": {"#)
                for mistake in [
                    "", "{", #"{"flags": {"kill": {"state": "ENAB"#, #"{"flags": {\#(Self.armed), "a": {"#,
                    #"{"flags": {"kill": 5}}"#, #"{"flags": {"kill": {"state": "DISABLED"}}}"#, "[",
                ] {
                    try write(mistake)
                    #expect(provider.killSignal() == .flag(key: "kill", variant: "on"), "\(mistake)")
                    #expect(provider.state.sources[0].salvagedKillFlags == ["kill"], "\(mistake)")
                }
                try write(#"{"flags": {\#(ending)}}"#)
                #expect(provider.killSignal() == nil)
                #expect(provider.state.sources[0].salvagedKillFlags.isEmpty)
            }
        }
    }

    @Test func everyDamagedFileMayPullForOthers() throws {
        try withProvider { provider, write in
            func damaged(_ user: String) -> String {
                #"""
                {"flags": {"kill": {"state": "ENABLED", "variants": {"on": true, "off": false}, "defaultVariant": "off",
                  "targeting": {"if": [{"==": [{"var": "targetingKey"}, "\#(user)"]}, "on"]}},
                """#
            }
            let users = ["ada", "berta", "carla"]
            for user in users { try write(damaged(user)) }
            for user in users {
                #expect(provider.killSignal(context: EvaluationContext(targetingKey: user)) != nil, "\(user)")
            }
            #expect(provider.killSignal(context: EvaluationContext(targetingKey: "dora")) == nil)
            for number in 0..<100 { try write(damaged("user \(number)")) }
            #expect(provider.killSignal(context: EvaluationContext(targetingKey: "user 99")) != nil)
        }
    }

    /// A later file's invalid definition of the kill flag hid an earlier file's, and so ended its kill.
    @Test func aMistakeInALaterFileDoesNotEndAnEarlierFilesKill() throws {
        try withTemporaryDirectory { directory in
            let (first, second) = (
                directory.appendingPathComponent("1.json"), directory.appendingPathComponent("2.json")
            )
            let provider = try FlagProvider(
                sources: [first, second].map { FlagSource(path: $0.path) },
                killSwitch: KillSwitchTriggers(flagKey: "kill"),
                logger: silentLogger
            )
            func isKilled(_ earlier: String, _ later: String) throws -> Bool {
                try write(#"{"flags": {\#(earlier)}}"#, to: first)
                try write(#"{"flags": {\#(later)}}"#, to: second)
                provider.reload()
                return provider.killSignal() != nil
            }
            let wrong = #""kill": {"state": "ENABLED"}"#
            #expect(try isKilled(Self.kill, #""a": \#(Self.other)"#))
            #expect(try isKilled(Self.kill, wrong))
            #expect(provider.snapshot.quarantined.keys.contains("kill"))
            #expect(try !isKilled(Self.armed, wrong))
            #expect(provider.boolean("kill", default: false).errorCode == .parseError)
            // A valid definition in a later file, before its error, stays in effect either way.
            #expect(try !isKilled(Self.kill, Self.armed))
            #expect(try !isKilled(Self.kill, wrong))
        }
    }

    @Test func theFlagCanHaveTargeting() throws {
        try withProvider { provider, write in
            let text = #"""
                {"flags": {"kill": {"state": "ENABLED", "variants": {"on": true, "off": false}, "defaultVariant": "off",
                  "targeting": {"if": [{"==": [{"var": "targetingKey"}, "ada"]}, "on"]}}
                """#
            for ending in ["}}", ", broken"] {
                try write(text + ending)
                #expect(provider.killSignal(context: EvaluationContext(targetingKey: "ada")) != nil)
                #expect(provider.killSignal(context: EvaluationContext(targetingKey: "berta")) == nil)
                #expect(provider.killSignal() == nil)
            }
        }
    }

    @Test func aBlockOfYAMLIsWholeWhereAnotherLineEndsIt() throws {
        let block =
            "  kill:\n    state: ENABLED\n    variants: {on: true, off: false}\n    # now\n    defaultVariant: on\n"
        try withProvider("flags.yaml") { provider, write in
            try write("flags:\n\(block.replacingOccurrences(of: "on\n", with: "'off'\n"))")
            #expect(provider.state.status == .ready)
            #expect(provider.killSignal() == nil)
            // Cut off after the block, or within it, which is ambiguous.
            try write("flags:\n  b: [\n\(block)")
            #expect(provider.killSignal() == nil)
            try write("flags:\n\(block)  b: [\n")
            #expect(provider.killSignal() != nil)
            try write("flags:\n  b: [\n  'kill':\n\(block.dropFirst(8))  c: 5\n")
            #expect(provider.killSignal() != nil)
        }
    }

    /// Randomly damages the text around the flag, but not its definition.
    @Test func randomDamageAroundTheFlagDoesNotStopIt() throws {
        let seed = SeededGenerator.seedForThisRun()
        var generator = SeededGenerator(seed: seed)
        let before = Array(#"{"metadata": {"v": 1}, "flags": {"a": \#(Self.other), "#.utf8)
        let after = Array(#", "b": \#(Self.other)}, "$evaluators": {"e": {"var": "x"}}}"#.utf8)
        let configuration = FlagConfiguration(killFlags: ["kill"])
        var damagedFiles = 0
        for _ in 0..<3000 {
            let first = Bool.random(using: &generator) ? FileMutation.mutate(before, &generator) : before
            let second = Bool.random(using: &generator) ? FileMutation.mutate(after, &generator) : after
            let bytes = first + Array(Self.kill.utf8) + second
            do throws(FlagError) {
                let snapshot = try FlagSnapshot(json: Data(bytes), source: "x", configuration: configuration)
                if snapshot.keys.contains("kill") { #expect(snapshot.boolean("kill", default: false).value) }
            } catch {
                damagedFiles += 1
                var damaged = DamagedFile(bytes: bytes, name: "x", configuration: configuration)
                let flags = damaged?.killFlags(.json)
                let resolution = flags?["kill"]?.resolve(EvaluationContext(), clock: { 0 })
                #expect(
                    resolution?.value == true,
                    "FLAGS_TEST_SEED=\(seed) \(String(decoding: bytes, as: UTF8.self))"
                )
            }
        }
        #expect(damagedFiles > 500)
    }

    /// Found by the fuzzer: a file of nested unclosed definitions was read once for every brace.
    @Test func searchingADamagedFileTakesNoLongerThanAFewReadings() throws {
        let bytes = Array(String(repeating: #"{"key": "kill", "x": "#, count: 40_000).utf8)
        let (killFlags, time) = withThreadTime {
            var damaged = DamagedFile(bytes: bytes, name: "x", configuration: FlagConfiguration(killFlags: ["kill"]))
            return damaged?.killFlags(.json)
        }
        #expect(killFlags?.isEmpty == true)
        #expect(time < .seconds(20))
    }

    /// Whatever happens to the flag file, the sentinel works, and an intact flag keeps its value.
    @Test func theSentinelWorksWhateverBecomesOfTheFile() throws {
        try withTemporaryDirectory { directory in
            let fileManager = FileManager.default
            let file = directory.appendingPathComponent("flags.json")
            let sentinel = directory.appendingPathComponent("KILL")
            try Data(#"{"flags": {"a": \#(Self.other)}}"#.utf8).write(to: file)
            let provider = try FlagProvider(
                sources: [FlagSource(path: file.path)],
                killSwitch: KillSwitchTriggers(flagKey: "kill", sentinelPath: sentinel.path),
                logger: silentLogger
            )
            let brackets = directory.appendingPathComponent("brackets").path
            try #require(fileManager.createFile(atPath: brackets, contents: nil))
            let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: brackets))
            let megabyte = Data(repeating: UInt8(ascii: "["), count: 1_000_000)
            for _ in 0..<100 { try handle.write(contentsOf: megabyte) }
            try handle.close()
            let harms: [(String, () throws -> Void)] = [
                ("empty", { try Data().write(to: file) }),
                ("cut off", { try Data(#"{"flags": {"a""#.utf8).write(to: file) }),
                ("256 KB of brackets", { try megabyte.prefix(256_000).write(to: file) }),
                ("100 MB of brackets", { try #require(rename(brackets, file.path) == 0) }),
                ("gone", { try fileManager.removeItem(at: file) }),
                ("a directory", { try fileManager.createDirectory(at: file, withIntermediateDirectories: false) }),
                ("gone again", { try fileManager.removeItem(at: file) }),
                (
                    "a loop",
                    { try fileManager.createSymbolicLink(atPath: file.path, withDestinationPath: "flags.json") }
                ),
            ]
            for (name, harm) in harms {
                try harm()
                let start = ContinuousClock.now
                provider.reload()
                #expect(ContinuousClock.now - start < .seconds(60), "\(name)")
                #expect(provider.state.status == .stale, "\(name)")
                #expect(provider.string("a", default: "caller").value == "one", "\(name)")
                #expect(provider.killSignal() == nil, "\(name)")
                try Data().write(to: sentinel)
                provider.reload()
                #expect(provider.killSignal() == .sentinel(path: sentinel.path), "\(name)")
                try fileManager.removeItem(at: sentinel)
                provider.reload()
            }
        }
    }
}
