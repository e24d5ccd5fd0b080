import Foundation

/// A time in the evidence, to the millisecond. In JSON it is the number of milliseconds since 1970, so reading it gives exactly the written time.
struct EvidenceInstant: Sendable, Hashable {
    private let milliseconds: Int

    init(_ date: Date) { milliseconds = Int((date.timeIntervalSince1970 * 1_000).rounded()) }

    var date: Date { Date(timeIntervalSince1970: Double(milliseconds) / 1_000) }
}

extension EvidenceInstant: Comparable {
    static func < (a: Self, b: Self) -> Bool { a.milliseconds < b.milliseconds }
}

extension EvidenceInstant: Codable {
    init(from decoder: any Decoder) throws { milliseconds = try decoder.singleValueContainer().decode(Int.self) }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(milliseconds)
    }
}
