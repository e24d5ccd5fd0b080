import HabitStoreTesting

/// Small random damage to a flag file.
enum FileMutation {
    static let pieces = [
        "{", "}", "[", "]", ",", ":", "\"", "\\", "\\u", "\\ud800", "null", "true", "-", "1e9", "0.",
        "999999999999999999999",
        "\"targeting\"", "\"state\"", "\"variants\"", "{\"var\":", "{\"if\":[", "{\"fractional\":[", "\u{FEFF}", "\0",
        "\n",
        "\"DISABLED\"", "{\"==\":[[],", "e400",
    ].map { Array($0.utf8) }

    static func mutate(_ original: [UInt8], _ generator: inout SeededGenerator) -> [UInt8] {
        var bytes = original
        for _ in 0..<Int.random(in: 1...2, using: &generator) {
            guard !bytes.isEmpty else { return bytes }
            let index = Int.random(in: 0..<bytes.count, using: &generator)
            let end = min(bytes.count, index + Int.random(in: 1...12, using: &generator))
            switch Int.random(in: 0..<7, using: &generator) {
            case 0: bytes[index] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
            case 1: bytes[index] = UInt8.random(in: 0...255, using: &generator)
            case 2: bytes.removeSubrange(index..<end)
            case 3: bytes.insert(contentsOf: Self.pieces.randomElement(using: &generator) ?? [], at: index)
            case 4: bytes.replaceSubrange(index..<end, with: Self.pieces.randomElement(using: &generator) ?? [])
            case 5: bytes.insert(contentsOf: bytes[index..<end], at: Int.random(in: 0..<bytes.count, using: &generator))
            default: bytes.removeSubrange(index...)
            }
        }
        return bytes
    }
}
