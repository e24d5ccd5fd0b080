import Foundation
import HabitStoreTesting
import Testing

@testable import FeatureFlags
@testable import FlagTools

/// Edits of flag files: what they change, and that they change nothing else.
@Suite struct FlagEditingTests {
    /// A file in an unusual style: tabs, odd spaces, unsorted keys, unknown members.
    private static let oddFile =
        "\u{FEFF}{ \"x-owner\" : [1,2 , 3],\r\n\t\"flags\":{\"kill\" :{\"variants\":{\"armed\":false,\"killed\":true},"
        + "\"state\":\"ENABLED\", \"defaultVariant\" : \"armed\"},\n\n  \"f\": {\"defaultVariant\":\"b\"  , \"state\":\"ENABLED\",\n"
        + "   \"variants\": {\"a\":\"A\",\"b\" :\"B\",\"c\":\"\\u0041\"},\n      \"targeting\": {\"if\":[ {\"in\":[{\"var\":"
        + "\"targetingKey\"},[ \"ada\" ]]}, \"a\",\n {\"fractional\":[[ \"a\",10 ],[\"b\" , 90]]} ] }\n}},\"metadata\":{\"v\":1e0}}\n\n"

    private func odd() throws -> FlagFileText {
        try FlagFileText(bytes: Array(Self.oddFile.utf8), source: "odd.json")
    }

    private func text(_ text: FlagFileText) -> String { String(decoding: text.bytes, as: UTF8.self) }

    @Test func aValueIsReplacedAndEveryOtherByteStays() throws {
        #expect(
            try text(odd().settingDefaultVariant("c", of: "f"))
                == Self.oddFile.replacing(#""defaultVariant":"b""#, with: #""defaultVariant":"c""#)
        )
        #expect(
            try text(
                odd().settingPercentages([.init(variant: "b", weight: 80), .init(variant: "a", weight: 20)], of: "f")
            )
                == Self.oddFile.replacing(#""a",10"#, with: #""a",20"#).replacing(#""b" , 90"#, with: #""b" , 80"#)
        )
        #expect(
            try text(odd().settingState(.disabled, of: "f"))
                == Self.oddFile.replacing("\"state\":\"ENABLED\",\n", with: "\"state\":\"DISABLED\",\n")
        )
    }

    @Test func aNewVariantIsPutBehindTheOthersOfAPercentage() throws {
        let shares = ["a": 10, "b": 80, "c": 10].sorted { $0.key < $1.key }
            .map { FlagFileText.Share(variant: $0.key, weight: $0.value) }
        let changed = try odd().settingPercentages(shares, of: "f")
        #expect(text(changed).contains(#"[["a", 10],["b", 80],["c", 10]]"#))
        #expect(text(changed).hasPrefix(String(Self.oddFile.prefix(300))))
    }

    @Test func whatWouldGoWrongIsRefused() throws {
        let file = try odd()
        let refused: [() throws -> FlagFileText] = [
            { try file.settingDefaultVariant("z", of: "f") },
            { try file.settingPercentages([.init(variant: "a", weight: 20)], of: "f") },
            { try file.settingPercentages([.init(variant: "a", weight: 0), .init(variant: "b", weight: 0)], of: "f") },
            {
                try file.settingPercentages([.init(variant: "a", weight: -1), .init(variant: "b", weight: 2)], of: "f")
            },
            { try file.settingPercentages([.init(variant: "a", weight: 1), .init(variant: "a", weight: 2)], of: "f") },
            { try file.settingPercentages([.init(variant: "armed", weight: 1)], of: "kill") },
            { try file.killing("f") },
        ]
        for (index, change) in refused.enumerated() {
            let error = #expect(throws: FlagError.self, "\(index)") { _ = try change() }
            #expect(error?.code == .editRefused, "\(index)")
        }
        #expect(throws: FlagError.self) { try file.settingState(.disabled, of: "none") }
    }

    /// A duplicate member cannot be removed by deleting the last one: then the first one would count.
    @Test func aChangeThatWouldBringAnotherValueToLightIsRefused() throws {
        let json =
            #"{"flags": {"f": {"state": "ENABLED", "variants": {"a": 1}, "targeting": {"var": "x"}, "metadata": {}, "targeting": {"var": "y"}}}}"#
        let file = try FlagFileText(bytes: Array(json.utf8), source: "test.json")
        let error = #expect(throws: FlagError.self) { try file.removingTargeting(of: "f") }
        #expect(error?.code == .editRefused)
    }

    @Test func killingAndRearmingGivesBackTheSameBytes() throws {
        let rules = [
            nil, "null", "{}", #"{"if":[{"var":"beta"},"killed" , "armed"]}"#,
            #"{ "if": [{ "in": [{ "var": "targetingKey" }, [ "old" ]] }, "killed", null] }"#,
            #"{"if":[true,"armed"]}"#,
        ]
        for rule in rules {
            let json =
                #"{"flags":{"f":{"state":"ENABLED","variants":{"armed":false,"killed":true},"defaultVariant":"armed""#
                + (rule.map { ",\n  \"targeting\" : " + $0 } ?? "") + "}}}"
            let file = try FlagFileText(bytes: Array(json.utf8), source: "test.json")
            func isKilled(_ file: FlagFileText, _ user: String?) throws -> Bool {
                try file.snapshot().resolve("f", context: EvaluationContext(targetingKey: user)).value == true
            }
            let some = try file.killing("f", users: ["ada", "be\"rta"])
            #expect(try isKilled(some, "ada") && isKilled(some, "be\"rta") && !isKilled(some, "carl"), "\(rule ?? "")")
            let all = try some.killing("f")
            #expect(try isKilled(all, nil) && isKilled(all, "carl") && isKilled(all, "ada"), "\(rule ?? "")")
            #expect(try all.killing("f").bytes == all.bytes)
            let one = try some.rearming("f", users: ["ada"])
            #expect(try !isKilled(one, "ada") && isKilled(one, "be\"rta"))
            let back = try one.rearming("f", users: ["be\"rta"])
            let isEmpty = rule == "null" || rule == "{}"
            if !isEmpty { #expect(text(back) == json) }
            let killedAtOnce = try file.killing("f")
            #expect(try isKilled(killedAtOnce, nil) && isKilled(killedAtOnce, "carl"))
            if rule?.contains("\"old\"") != true {
                #expect(try text(killedAtOnce.rearming("f")) == json, "\(rule ?? "")")
                if !isEmpty { #expect(try text(all.rearming("f")) == json) }
            }
            #expect(try !isKilled(all.rearming("f"), "carl"))
        }
    }

    @Test func aDisabledKillFlagIsEnabledToKill() throws {
        let json =
            #"{"flags":{"f":{"state":"DISABLED","variants":{"armed":false,"killed":true},"defaultVariant":"armed"}}}"#
        let killed = try FlagFileText(bytes: Array(json.utf8), source: "test.json").killing("f")
        #expect(try killed.snapshot().resolve("f").value == true)
    }

    /// Whatever the file looks like, an edit changes one value and no other byte.
    @Test func randomFilesKeepAllBytesButThoseOfTheChange() throws {
        let seed = SeededGenerator.seedForThisRun()
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<300 {
            func space() -> String {
                let spaces = ["", " ", "\n  ", "\t", "\r\n", "   "]
                return spaces[Int.random(in: 0..<spaces.count, using: &generator)]
            }
            var members = [
                (#""state""#, #""ENABLED""#), (#""variants""#, #"{"a": 1, "b": 2}"#), (#""defaultVariant""#, #""a""#),
                (#""x""#, #"["\"a\"", {"defaultVariant": "a"}]"#), (#""metadata""#, #"{"é": "\u00e9"}"#),
            ]
            members.shuffle(using: &generator)
            func file(_ value: String, _ pieces: [String]) -> String {
                var index = 0
                var parts: [String] = []
                for (key, text) in members {
                    let written = key == #""defaultVariant""# ? value : text
                    parts.append(
                        pieces[index] + key + pieces[index + 1] + ":" + pieces[index + 2] + written + pieces[index + 3]
                    )
                    index += 4
                }
                return "{\"flags\":" + pieces[index] + "{\"f\":{" + parts.joined(separator: ",") + "}}}"
            }
            let pieces = (0..<21).map { _ in space() }
            let before = try FlagFileText(bytes: Array(file(#""a""#, pieces).utf8), source: "test.json")
            let after = try before.settingDefaultVariant("b", of: "f")
            #expect(text(after) == file(#""b""#, pieces), "seed \(seed)")
        }
    }

    @Test func yamlIsChangedWhereARangeSaysItAll() throws {
        let yaml = """
            flags: # all
              f:
                state: ENABLED
                variants: {a: A, "b": B}
                defaultVariant: a   # now
                targeting:
                  fractional:
                    - [a, 10]
                    - ['b', 90] # rest
            """
        let file = try FlagFileText(bytes: Array(yaml.utf8), format: .yaml, source: "test.yaml")
        #expect(
            try text(file.settingDefaultVariant("b", of: "f"))
                == yaml.replacing("defaultVariant: a ", with: "defaultVariant: b ")
        )
        #expect(
            try text(
                file.settingPercentages([.init(variant: "a", weight: 5), .init(variant: "b", weight: 95)], of: "f")
            )
                == yaml.replacing("[a, 10]", with: "[a, 5]").replacing("['b', 90]", with: "['b', 95]")
        )
        let error = #expect(throws: FlagError.self) { try file.removingTargeting(of: "f") }
        #expect(error?.code == .editRefused)
        #expect(error?.message.contains("YAML") == true)
    }

    @Test func aFileIsReplacedInOneStepAndKeepsItsPermissionsAndLinks() throws {
        try withTemporaryDirectory { folder in
            let file = folder.appendingPathComponent("real.json")
            let link = folder.appendingPathComponent("link.json")
            try Data(Self.oddFile.utf8).write(to: file)
            try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: file.path)
            try FileManager.default.createSymbolicLink(at: link, withDestinationURL: file)
            let inode = try FileManager.default.attributesOfItem(atPath: file.path)[.systemFileNumber] as? Int
            try FlagFile.update(path: link.path) { (text) throws(FlagError) in
                try text.settingDefaultVariant("c", of: "f")
            }
            let attributes = try FileManager.default.attributesOfItem(atPath: file.path)
            #expect(attributes[.posixPermissions] as? Int == 0o640)
            #expect(attributes[.systemFileNumber] as? Int != inode)
            #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link.path) == file.path)
            #expect(try String(contentsOf: file, encoding: .utf8).contains(#""defaultVariant":"c""#))
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).count == 2)
            // A refused edit leaves no trace.
            let before = try Data(contentsOf: file)
            #expect(throws: FlagError.self) {
                try FlagFile.update(path: file.path) { (text) throws(FlagError) in
                    try text.settingDefaultVariant("z", of: "f")
                }
            }
            #expect(try Data(contentsOf: file) == before)
        }
    }

    /// Readers see a complete file at any time, and no writer's edit is lost.
    @Test func changesOfManyWritersAreAllKept() async throws {
        let folder = try TemporaryFolder()
        let path = folder.path("f.json")
        let json =
            #"{"flags":{"f":{"state":"ENABLED","variants":{"armed":false,"killed":true},"defaultVariant":"armed"}}}"#
        try Data(json.utf8).write(to: URL(fileURLWithPath: path))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for writer in 0..<4 {
                group.addTask {
                    for change in 0..<10 {
                        try FlagFile.update(path: path, timeoutSeconds: 60) { (text) throws(FlagError) in
                            try text.killing("f", users: ["user-\(writer)-\(change)"])
                        }
                        _ = try FlagSnapshot.load(path: path)
                    }
                }
            }
            try await group.waitForAll()
        }
        let snapshot = try FlagSnapshot.load(path: path)
        for writer in 0..<4 {
            for change in 0..<10 {
                let context = EvaluationContext(targetingKey: "user-\(writer)-\(change)")
                #expect(snapshot.resolve("f", context: context).value == true)
            }
        }
    }

    @Test func theSentinelIsMadeAndRemovedWhateverItIs() throws {
        try withTemporaryDirectory { folder in
            let path = folder.appendingPathComponent("kill").path
            let sentinel = try SentinelFile(path: path)
            #expect(try sentinel.create())
            #expect(sentinel.isPresent)
            #expect(try !sentinel.create())
            #expect(try sentinel.remove())
            #expect(!sentinel.isPresent)
            #expect(try !sentinel.remove())
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
            #expect(try !sentinel.create())
            #expect(try sentinel.remove())
            try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: "nowhere")
            #expect(try !sentinel.create())
            #expect(try sentinel.remove())
        }
    }

    @Test func anExplanationNamesTheBranchAndTheBucket() throws {
        try withTemporaryDirectory { folder in
            let file = folder.appendingPathComponent("odd.json")
            try Data(Self.oddFile.utf8).write(to: file)
            func explain(_ user: String?) throws -> FlagExplanation {
                try FlagExplanation.explain("f", context: EvaluationContext(targetingKey: user), path: file.path)
            }
            let named = try explain("ada")
            #expect(named.decisions.map(\.summary) == ["branch 1 of the \"if\" in line 6"])
            #expect(named.resolution.variant == "a")
            #expect(named.fractional == nil)
            let other = try explain("berta")
            #expect(other.decisions.first?.summary == "the else branch of the \"if\" in line 6")
            #expect(other.fractional?.bucketingBytes == Array("fberta".utf8))
            #expect(other.fractional?.totalWeight == 100)
            #expect(other.decisions.last?.location?.line == 7)
            #expect(
                try explain(nil).decisions.last?.summary == "\"fractional\" had nothing to choose by, and gave null"
            )
            #expect(named.digest == FileDigest.hexadecimal(of: Array(Self.oddFile.utf8)))
        }
    }

    @Test func aContextIsReadFromJSON() throws {
        let context = try EvaluationContext(json: Data(#"{"targetingKey": "ada", "app": {"build": 7}}"#.utf8))
        #expect(context == EvaluationContext(targetingKey: "ada", attributes: ["app": ["build": 7]]))
        for text in ["[]", "", "{", "5", #"{"a": [1e999]}"#] {
            let error = #expect(throws: FlagError.self) { try EvaluationContext(json: Data(text.utf8)) }
            #expect(error?.code == .invalidContext)
        }
    }
}
