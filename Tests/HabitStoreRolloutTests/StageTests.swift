import HabitStoreRollout
import Testing

/// The table of stages from the design.
struct StageTests {
    private typealias Row = (stage: Stage, authority: StoreSide, shadow: StoreSide?, mirror: StoreSide?, awaits: Bool)

    private static let table: [Row] = [
        (.off, .old, nil, nil, false),
        (.dualwrite, .old, nil, .new, false),
        (.shadow, .old, .new, .new, false),
        (.live, .new, .old, .old, true),
        (.rampdown, .new, nil, .old, true),
        (.complete, .new, nil, nil, false),
    ]

    @Test func eachStageReadsComparesAndMirrorsAsTheTableSays() {
        #expect(Self.table.map(\.stage) == Stage.allCases)
        for row in Self.table {
            #expect(row.stage.authority == row.authority, "\(row.stage)")
            #expect(row.stage.shadow == row.shadow, "\(row.stage)")
            #expect(row.stage.mirror == row.mirror, "\(row.stage)")
            #expect(row.stage.awaitsMirror == row.awaits, "\(row.stage)")
        }
    }

    @Test func stagesFollowEachOtherInTheOrderOfTheTable() {
        #expect(Stage.allCases.sorted() == Stage.allCases)
        #expect(Stage.allCases.map(\.next) == Array(Stage.allCases.dropFirst()) + [nil])
    }
}
