import HabitStore

/// Refuses JSON nested so deeply that decoding it could exhaust the stack.
package enum JSONDepth {
    package static let maximum = 256

    package static func require(_ bytes: some Sequence<UInt8>, path: String) throws {
        var depth = 0
        var isText = false
        var isEscaped = false
        for byte in bytes {
            if isText {
                if isEscaped {
                    isEscaped = false
                } else if byte == UInt8(ascii: "\\") {
                    isEscaped = true
                } else if byte == UInt8(ascii: "\"") {
                    isText = false
                }
                continue
            }
            switch byte {
            case UInt8(ascii: "\""): isText = true
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
            default: break
            }
            guard depth <= maximum else {
                throw HabitStoreError(
                    .limitExceeded,
                    "the JSON is nested deeper than \(maximum) levels",
                    at: .init(path: path)
                )
            }
        }
    }
}
