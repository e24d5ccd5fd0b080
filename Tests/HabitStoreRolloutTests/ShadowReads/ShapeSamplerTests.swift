import HabitStore
import Testing

@testable import HabitStoreRollout

/// Which queries are compared.
struct ShapeSamplerTests {
    private func shape(_ number: Int) -> QueryShape { QueryShape(.record, entity: number) }

    private func sample(_ sampler: ShapeSampler, _ shapes: [Int]) -> [Bool] {
        shapes.map { sampler.samples(shape($0)) }
    }

    @Test(arguments: [2, 7, 100])
    func ofEachSoManyOfAShapeExactlyOneIsTaken(oneIn: Int) {
        let sampler = ShapeSampler(oneIn: oneIn, seed: .random(in: 0...99_999), user: "alice")
        for block in 0..<20 {
            #expect(sample(sampler, .init(repeating: 1, count: oneIn)).filter { $0 }.count == 1, "block \(block)")
        }
    }

    /// With one counter for all shapes, a query that was every hundredth read got all of the sample, or none of it.
    @Test func aSeldomShapeHasItsShareBesideAFrequentOne() {
        let sampler = ShapeSampler(oneIn: 100, seed: .random(in: 0...99_999), user: "alice")
        var seldom = 0
        for _ in 0..<1_000 {
            for _ in 0..<99 { _ = sampler.samples(shape(1)) }
            if sampler.samples(shape(2)) { seldom += 1 }
        }
        #expect(seldom == 10)
    }

    @Test func theSameReadsGiveTheSameSample() {
        let seed = UInt64.random(in: 0...99_999)
        let reads = (0..<5_000).map { ($0 * $0) % 7 }
        let first = sample(ShapeSampler(oneIn: 10, seed: seed, user: "alice"), reads)
        #expect(sample(ShapeSampler(oneIn: 10, seed: seed, user: "alice"), reads) == first, "seed \(seed)")
        #expect(sample(ShapeSampler(oneIn: 10, seed: seed &+ 1, user: "alice"), reads) != first, "seed \(seed)")
        #expect(sample(ShapeSampler(oneIn: 10, seed: seed, user: "bob"), reads) != first, "seed \(seed)")
    }

    @Test func placesInTheirBlocksAreSpreadEvenly() {
        let oneIn = 10
        var places = [Int](repeating: 0, count: oneIn)
        for user in 0..<2_000 {
            let sampler = ShapeSampler(oneIn: oneIn, seed: 7, user: "user \(user)")
            for place in 0..<oneIn where sampler.samples(shape(3)) { places[place] += 1 }
        }
        #expect(places.allSatisfy { (140...260).contains($0) }, "\(places)")
    }

    @Test func moreShapesThanThereIsRoomForShareOneCount() {
        let oneIn = 10
        let sampler = ShapeSampler(oneIn: oneIn, seed: 7, user: "alice")
        var taken = 0
        let shapes = ShapeSampler.shapeLimit * 4
        for _ in 0..<50 {
            for number in 0..<shapes where sampler.samples(shape(number)) { taken += 1 }
        }
        // All together still have their share.
        #expect(abs(taken - shapes * 50 / oneIn) <= ShapeSampler.shapeLimit)
    }
}
