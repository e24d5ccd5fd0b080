import Foundation
@_spi(Engines) import HabitStore
import HabitStoreTesting
import ShadowVerifier
import StandardEngines
import Testing

@testable import HabitStoreRollout

/// Hundreds of ways to change a store's file outside its transactions, each of them found, or documented with its reason. Some were missed at first:
/// definitions were never examined, the same decomposed text in both files passed for equal, damaged numbers crashed the process, and the check
/// accepted files that no command could open.
struct PlantedChangeTests {
    /// `make planted-changes` tries the whole catalogue, each `make test` a sample.
    private static let environment = ProcessInfo.processInfo.environment
    private static let isWhole = environment["HABITSTORE_PLANTED_CHANGES"] != nil
    private static let seed = environment["HABITSTORE_PLANTED_CHANGES_SEED"].flatMap(UInt64.init) ?? 1
    private static let sampleSize = 200

    private static let tried: [PlantedChange] = {
        guard !isWhole else { return PlantedChange.all }
        var generator = SeededGenerator(seed: seed)
        return Array(PlantedChange.all.shuffled(using: &generator).prefix(sampleSize))
    }()

    @Test func theCatalogueHasEveryChangeOnce() {
        let names = PlantedChange.all.map(\.testDescription)
        let doubled = Dictionary(grouping: names) { $0 }.filter { $0.value.count > 1 }.keys
        #expect(doubled.isEmpty)
        #expect(PlantedChange.all.count >= 1_500)
        for part in PlantedChange.Part.allCases { #expect(PlantedChange.all.contains { $0.part == part }, "\(part)") }
    }

    private static func article(_ name: String) throws -> String {
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: "Sources/ShadowVerifier/Documentation.docc")
        return try String(contentsOf: folder.appending(path: name), encoding: .utf8).split { $0.isWhitespace }
            .joined(separator: " ")
    }

    /// The documentation states, in these words, every change that passes, and each statement has a planted change.
    @Test func whatPassesIsStatedInTheDocumentation() throws {
        let text = try Self.article("Verification.md")
        for reason in DocumentedReason.allCases {
            #expect(text.contains(reason.rawValue), "\(reason)")
            #expect(PlantedChange.all.contains { $0.answer == .stated(reason) }, "\(reason)")
        }
    }

    @Test func theDocumentationCountsTheChanges() throws {
        let text = try Self.article("PlantedFaults.md")
        let answers = Dictionary(grouping: PlantedChange.all) { change -> String in
            if case .stated = change.answer { "stated" } else { "\(change.answer)" }
        }
        for (answer, changes) in answers {
            let isCounted = text.contains("| \(answer) | \(changes.count) |")
            #expect(isCounted, "\(answer): \(changes.count)")
        }
        let distinct = PlantedChange.all.count { !$0.hasFittingDigests }
        let isWhole = text.contains("has \(distinct) changes")
        #expect(isWhole, "\(distinct)")
        let doubled = PlantedChange.all.count - distinct
        let isDoubled = text.contains("\(doubled) of them once more")
        #expect(isDoubled, "\(doubled)")
    }

    @Test(arguments: [false, true])
    func storesWithoutAChangeMatchAndAreSound(isWide: Bool) throws {
        let pair = try ChangedPair(isWide: isWide)
        for depth in VerificationDepth.allCases { #expect(try pair.verification(depth) == .match) }
        for engine in EngineName.standard { #expect(try pair.check(engine) == .match) }
    }

    @Test(arguments: tried)
    func eachChangeIsFoundOrStated(change: PlantedChange) throws {
        let start = ContinuousClock.now
        let pair = try ChangedPair(isWide: change.isWide)
        try pair.plant(change)
        let verified = try pair.verification(.full)
        let engines = change.engine.map { [$0] } ?? EngineName.standard
        let checks = try engines.map { try pair.check($0) }
        switch change.answer {
        case .difference: #expect(verified != .match)
        case .damage: #expect(verified != .match && checks.contains { $0 != .match }, "\(verified), \(checks)")
        case .refusal: #expect(verified.isRefusal && checks.contains(where: \.isRefusal), "\(verified), \(checks)")
        case .stated: #expect(verified == .match && checks.allSatisfy { $0 == .match }, "\(verified), \(checks)")
        }
        // These results depend on the digests, but both must finish.
        _ = try pair.verification(.keptDigests)
        let paranoid = try pair.verification(.paranoid)
        #expect((paranoid == .match) == (verified == .match), "\(paranoid)")
        // It takes milliseconds, or more on a busy machine: counting up to a damaged number would take forever.
        #expect(ContinuousClock.now - start < .seconds(60))
    }
}

extension ChangedPair.Judgement {
    fileprivate var isRefusal: Bool { if case .refusal = self { true } else { false } }
}
