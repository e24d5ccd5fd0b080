/// Users of several kinds, to see whether a bucket tells them apart.
enum BucketSamples {
    /// Users whose keys look alike, and the flag that is evaluated for them.
    struct Kind: Sendable {
        let flagKey: String
        let keys: [String]
    }

    static let usersOfOneKind = 16

    /// Names, numbers, UUIDs and e-mail addresses.
    static let ordinary = [
        Kind(flagKey: flagKey, keys: names), Kind(flagKey: flagKey, keys: numbers),
        Kind(flagKey: flagKey, keys: numbered.map(uuid)),
        Kind(flagKey: flagKey, keys: names.enumerated().map { "\($1).\($0)@mail\($0 % 5).example.com" }),
    ]

    /// Keys longer than an app's mostly are, such as digests: 256 hexadecimal digits.
    static let long = Kind(
        flagKey: flagKey,
        keys: numbered.map { number in (0..<16).map { digits(number + 100 * UInt64($0)) }.joined() }
    )

    /// Users whose keys begin or end with a text or have nothing to do with it, and a flag that is called so.
    static func around(_ text: String) -> Kind {
        let keys = names.enumerated().map { index, name in
            switch index % 3 {
            case 0: text + name
            case 1: name + text
            default: name
            }
        }
        return Kind(flagKey: text, keys: keys)
    }

    private static let flagKey = "sample-flag"
    private static let numbered = (0..<usersOfOneKind).map { UInt64($0) }
    private static let names = [
        "ada", "berta", "carl", "dora", "emil", "frida", "georg", "hanna", "ida", "jonas", "klara", "ludwig", "mia",
        "nora",
        "oskar", "paula",
    ]
    private static let numbers = numbered.map { String(101 + 7_919 * $0) }

    private static func uuid(_ number: UInt64) -> String {
        var text = digits(number) + digits(number + 100)
        for offset in [8, 13, 18, 23] { text.insert("-", at: text.index(text.startIndex, offsetBy: offset)) }
        return text
    }

    /// Sixteen hexadecimal digits that differ from number to number.
    private static func digits(_ number: UInt64) -> String {
        var mixed = (number + 1) &* 0x9E37_79B9_7F4A_7C15
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        mixed ^= mixed >> 31
        let text = String(mixed, radix: 16)
        return String(repeating: "0", count: 16 - text.count) + text
    }
}
