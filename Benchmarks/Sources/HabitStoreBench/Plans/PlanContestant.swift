import Foundation

/// A side that answers queries with an order-dependent checksum over everything found.
protocol PlanContestant {
    func answer(_ question: PlanQuestion) throws -> UInt64
}

/// The checksum of a result; like the yardstick's, it depends on the order.
struct PlanChecksum {
    private(set) var sum: UInt64

    init(count: Int = 0) { sum = UInt64(bitPattern: Int64(count)) }

    mutating func append(_ item: UInt64) { sum = sum &* 31 &+ item }

    mutating func append(_ id: UUID) {
        let parts = withUnsafeBytes(of: id.uuid) { $0.loadUnaligned(as: (UInt64, UInt64).self) }
        append(parts.0 ^ parts.1)
    }

    mutating func append(_ number: Double?) { append(number?.bitPattern ?? 1) }
}
