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
