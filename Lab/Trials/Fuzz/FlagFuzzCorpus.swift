import HabitStoreTesting

/// The seeds of the mutations.
enum FlagFuzzCorpus {
    static let inputs: [FlagFuzzInput] =
        files.map { FlagFuzzInput(kind: .json, bytes: Array($0.utf8)) }
        + rules.map { FlagFuzzInput(kind: .rule, bytes: Array($0.utf8)) }
        + yaml.map { FlagFuzzInput(kind: .yaml, bytes: Array($0.utf8)) }

    private static let files = [
        #"""
        {"$schema": "x", "metadata": {"flagSetId": "s", "version": 1.5e0, "ok": true}, "flags": {
          "a": {"state": "ENABLED", "variants": {"on": true, "off": false}, "defaultVariant": "off",
            "targeting": {"if": [{"in": [{"var": "targetingKey"}, ["ada", "\u00e9\ud83d\ude00"]]}, "on",
              {"and": [{"!": [{"==": [{"var": ["app.v", 3]}, 4]}]}, {"or": [{"!=": [1, "1"]}, null]}]}, "off",
              {"fractional": [{"var": "x"}, ["on", 10], ["off", {"if": [true, 90, 0]}]]}]}},
          "b": {"state": "DISABLED", "variants": {"x": {"k": [1, -2, 3.25, "t\n"]}}, "defaultVariant": null},
          "kill": {"state": "ENABLED", "variants": {"on": true, "off": false}, "defaultVariant": "on"}}}
        """#,
        #"""
        {"flags": [{"key": "a", "state": "ENABLED", "variants": {"one": 1, "two": 2.5}, "defaultVariant": "one",
          "metadata": {"m": 7}, "targeting": {"$ref": "e"}}, {"key": "kill", "state": "ENABLED",
          "variants": {"on": true}, "targeting": {"if": [{"$ref": "r"}, "on"]}}],
         "$evaluators": {"e": {"fractional": [["one"], ["two", 3]]}, "r": {"sem_ver": [{"var": "v"}, ">=", "1.2.3-a.1"]},
          "l": ["ada", "berta"]}}
        """#,
        #"""
        {"flags": {"a": {"state": "ENABLED", "variants": {"true": "x", "false": "y", "1": "z"}, "targeting": {"and": [
          {"starts_with": [{"var": "email"}, "a"]}, {"ends_with": [{"var": "email"}, "b"]},
          {"<": [1, {"var": "$flagd.timestamp"}, 1e10]}, {"missing": ["a.b", "list"]}]}}}}
        """#,
    ]

    private static let rules = [
        #"{"reduce": [{"var": "list"}, {"+": [{"var": "current"}, {"var": "accumulator"}]}, 0]}"#,
        #"{"reduce": [{"var": "list"}, {"merge": [{"var": "accumulator"}, [{"var": ""}]]}, []]}"#,
        #"{"map": [{"filter": [{"var": "list"}, {">=": [{"var": ""}, 2]}]}, {"cat": [{"var": ""}, "-", {"var": "x"}]}]}"#,
        #"{"if": [{"all": [{"var": "list"}, {"<=": [0, {"var": ""}, 9]}]}, {"substr": [{"var": "email"}, -3, 2]}, "b"]}"#,
        #"{"missing_some": [1, ["a", "b.c", "x", "list.0"]]}"#,
        #"{"max": [{"-": [{"*": [2, "3.5"]}, {"%": [7, 4]}]}, {"/": [1, 3]}, {"min": [null, true, "0x1F"]}]}"#,
        #"{"?:": [{"===": [{"var": "x"}, "y"]}, {"log": [{"var": ""}]}, {"!!": [[]]}]}"#,
        #"{"sem_ver": [{"var": "v"}, "~", "v1.2"]}"#,
        #"{"some": [[[1, 2], {"a": 1, "b": 2}, "t"], {"none": [{"var": ""}, {"!==": [{"var": "a"}, 1]}]}]}"#,
    ]

    private static let yaml = [
        """
        metadata: {flagSetId: set, version: 1.5}
        $evaluators:
          e: {"==": [{var: targetingKey}, ada]}
        base: &base
          state: ENABLED
          variants: {on: true, off: false}
        flags:
          a:
            <<: *base
            defaultVariant: 'off'
            targeting:
              if:
                - $ref: e
                - "on"
                - ~
          kill:
            state: ENABLED
            variants:
              ? on
              : true
            defaultVariant: !!str on  # now
        """,
        "flags:\n- key: a\n  state: ENABLED\n  variants: {x: |\n      text\n    , y: >-\n      folded\n    }\n",
        "{flags: {a: {state: ENABLED, variants: {x: 0x1F, y: -.5e3}, defaultVariant: x}}}",
    ]

    /// Fragments to insert, or to replace others.
    static let pieces = [
        "{", "}", "[", "]", ",", ":", "\"", "\\", "\\u", "\\ud800", "null", "true", "-", "1e9", "0.", "1e999", "-0.0",
        "999999999999999999999", "9223372036854775807", "\"targeting\":", "\"state\":", "\"variants\":", "{\"var\":",
        "{\"if\":[",
        "{\"fractional\":[", "{\"reduce\":[", "{\"map\":[", "{\"merge\":[", "{\"cat\":[", "{\"substr\":[",
        "{\"var\":\"\"}",
        "{\"var\":\"list\"}", "{\"var\":\"accumulator\"}", "{\"$ref\":\"e\"}", "\"kill\":", "\u{FEFF}", "\0", "\n",
        "\"DISABLED\"",
        "{\"==\":[[],", "{\"in\":[", "\"$evaluators\":", "- ", "? ", "&a ", "*a", "<<: ", "|\n", "!!int ", "---\n", "#",
        "'",
        "\u{85}", "\u{2028}", "\t", "%YAML 1.2\n", "{\"sem_ver\":[", "1.2.3-rc.1+b", "{\"missing_some\":[", "{\"<\":[",
    ].map { Array($0.utf8) }
}

/// Damages inputs at random.
enum FlagInputMutator {
    private static let sizeLimitBytes = 4096

    static func mutated(
        _ input: FlagFuzzInput,
        with other: FlagFuzzInput,
        _ generator: inout SeededGenerator
    ) -> FlagFuzzInput {
        var input = input
        if Int.random(in: 0..<64, using: &generator) == 0 {
            input.kind = FlagFuzzInput.Kind.allCases.randomElement(using: &generator) ?? .json
        }
        for _ in 0..<[1, 1, 1, 2, 3][Int.random(in: 0..<5, using: &generator)] {
            mutate(&input.bytes, with: other.bytes, &generator)
        }
        if input.bytes.count > sizeLimitBytes { input.bytes.removeLast(input.bytes.count - sizeLimitBytes) }
        return input
    }

    private static func mutate(_ bytes: inout [UInt8], with other: [UInt8], _ generator: inout SeededGenerator) {
        guard !bytes.isEmpty else {
            bytes = other
            return
        }
        let index = Int.random(in: 0..<bytes.count, using: &generator)
        let end = min(bytes.count, index + Int.random(in: 1...24, using: &generator))
        let piece = FlagFuzzCorpus.pieces.randomElement(using: &generator) ?? []
        switch Int.random(in: 0..<36, using: &generator) {
        case 0..<2: bytes[index] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
        case 2..<4: bytes[index] = UInt8.random(in: 0...255, using: &generator)
        case 4..<7: bytes.removeSubrange(index..<end)
        case 7..<12: bytes.insert(contentsOf: piece, at: index)
        case 12..<15: bytes.replaceSubrange(index..<end, with: piece)
        case 15..<17:
            bytes.insert(contentsOf: bytes[index..<end], at: Int.random(in: 0..<bytes.count, using: &generator))
        case 17: bytes.removeSubrange(index...)
        case 18: repeatPart(&bytes, index..<end, &generator)
        case 19..<34: replaceValue(&bytes, with: other, &generator)
        default: splice(&bytes, at: index, with: other, &generator)
        }
    }

    /// Repeats the same bytes many times, which makes inputs deep, long or large.
    private static func repeatPart(_ bytes: inout [UInt8], _ part: Range<Int>, _ generator: inout SeededGenerator) {
        let count = 1 << Int.random(in: 1...9, using: &generator)
        let repeated = Array(repeating: Array(bytes[part]), count: min(count, sizeLimitBytes / part.count)).joined()
        bytes.insert(contentsOf: repeated, at: part.lowerBound)
    }

    /// Replaces a value in brackets with another one, so that the result is often well-formed.
    private static func replaceValue(_ bytes: inout [UInt8], with other: [UInt8], _ generator: inout SeededGenerator) {
        guard let old = bracketed(bytes, &generator), let new = bracketed(other, &generator) else { return }
        bytes.replaceSubrange(old, with: other[new])
    }

    private static func bracketed(_ bytes: [UInt8], _ generator: inout SeededGenerator) -> Range<Int>? {
        let opening = bytes.indices.filter { bytes[$0] == UInt8(ascii: "{") || bytes[$0] == UInt8(ascii: "[") }
        guard let start = opening.randomElement(using: &generator) else { return nil }
        var depth = 0
        for index in start..<bytes.count {
            switch bytes[index] {
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
            default: break
            }
            if depth == 0 { return start..<(index + 1) }
        }
        return nil
    }

    private static func splice(
        _ bytes: inout [UInt8],
        at index: Int,
        with other: [UInt8],
        _ generator: inout SeededGenerator
    ) {
        guard !other.isEmpty else { return }
        let start = Int.random(in: 0..<other.count, using: &generator)
        let end = Int.random(in: start...min(other.count, start + 200), using: &generator)
        bytes.insert(contentsOf: other[start..<end], at: index)
    }
}
