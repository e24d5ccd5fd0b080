import HabitStoreTesting
import Testing

@testable import HabitStore

/// Runs of bytes in one buffer, and their order.
struct PackedBytesTests {
    @Test func runsComeBackAsTheyWere() {
        let packed = PackedBytes(capacity: 1)
        let runs = (0..<200).map { [UInt8](repeating: UInt8($0), count: $0 % 37) }
        for run in runs { run.withUnsafeBytes { packed.append($0) } }
        #expect(packed.count == 200)
        #expect(packed.byteCount == runs.reduce(0) { $0 + $1.count })
        for (place, run) in runs.enumerated() { #expect(packed[place].elementsEqual(run)) }
        packed.removeAll()
        #expect(packed.count == 0)
        #expect(packed.sortedPlaces().isEmpty)
    }

    /// Few different bytes and long common prefixes, so that many runs are equal, or start alike, or are prefixes of another one, also followed by
    /// zeros.
    @Test(arguments: [11, 12, 13, 14, 15, 16] as [UInt64])
    func placesAreSortedAsTheBytesAre(_ seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let packed = PackedBytes()
        var runs: [[UInt8]] = []
        for _ in 0..<3_000 {
            let shared = [UInt8](repeating: 7, count: Int(random.next() % 3) * 8)
            let tail = (0..<Int(random.next() % 19)).map { _ in UInt8(random.next() % (seed % 2 == 0 ? 2 : 256)) }
            runs.append(shared + tail)
        }
        for run in runs { run.withUnsafeBytes { packed.append($0) } }
        let expected = runs.indices.sorted { left, right in
            if runs[left] == runs[right] { return left < right }
            return runs[left].lexicographicallyPrecedes(runs[right])
        }
        #expect(packed.sortedPlaces() == expected, "seed \(seed)")
    }

    @Test func aPartOfEachRunMayDecide() {
        let packed = PackedBytes()
        let runs: [[UInt8]] = (0..<100).map { [UInt8(100 - $0), UInt8($0 % 10), 0] }
        for run in runs { run.withUnsafeBytes { packed.append($0) } }
        let expected = runs.indices.sorted { (runs[$0][1], $0) < (runs[$1][1], $1) }
        #expect(packed.sortedPlaces(by: 1..<2) == expected)
    }
}
