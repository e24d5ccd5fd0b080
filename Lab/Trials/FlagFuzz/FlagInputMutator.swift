import HabitStoreTesting

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
