import Foundation
import HabitTracker
import Testing

/// The public API is chosen: types that an app has no use for are `@_spi(Engines)`, or `package`.
struct SurfaceTests {
    /// The public types by the modules that apps import. Members and nested types come with them.
    private static let types = [
        "FeatureFlags": """
        EvaluationContext EvaluationDetails EvaluationStep FlagConfiguration FlagError FlagEvaluator
        FlagExposure FlagExposureHook FlagFormat FlagLimits FlagProvider FlagProviderEvent
        FlagProviderState FlagSnapshot FlagSource FlagSourceState FlagValue FlagValueType FlagWarning
        FractionalChoice FractionalGeneration JsonLogicRule KillSignal KillSwitchTriggers OpenFeatureErrorCode OpenFeatureEvaluating OpenFeatureEvaluation
        OpenFeatureProvider Reason Resolution
        SentinelFile WatchOptions
        """,
        "HabitStore": """
        AttributeColumns AttributeConvertible AttributeDescription AttributeEnum AttributeKind AttributePath
        AttributeReader AttributeWriter CollectionPath DeleteRule EngineName EnginePair EngineProvider
        Engines EntityDescription FetchDescriptor FetchStatistics Filter FilterExpression HabitStore HabitStoreError
        HistoryChange HistoryObserver HistoryToken HistoryTransaction InMemoryHabitStore InMemoryProvider IndexDescription
        JSONAttribute JSONAttributeProbing LiveCount LiveExplanation LiveHistory LiveQueries LiveRecords LiveResults LiveTokens
        MaintainableStore MigrationDrop MigrationOutcome MigrationProgress
        MigrationRehearsal MigrationStage MigrationStep ModelSubtype OperatorCommand Page PageCursor PersistentModel
        PreparedFetch Projection Query QueryAnalysis QueryExplanation ReadTransaction ResultsChange
        ResultsChangeCause ResultsDifference ResultsObserver Record RecordBatches RecordLayout
        RecordPath RecordQuery RelationshipDescription RelationshipScope ReplicableStore RowSource Schema
        SchemaDifference SchemaMigrationPlan StoreAccess StoreAddress StoreDispatcher StoreFinding
        StoreInformation StoreMigrator StoreOutline StoredSchema StoreRole UniquenessDescription UserStoreBackend Value
        VersionedSchema WriteTransaction
        """,
        "HabitStoreLMDB": """
        LMDBHabitStore LMDBProvider
        """,
        "HabitStoreMacros": """
        ConvertibleCoding JSONCoding ModelCoding OptionalJSONCoding RawValueCoding RefusedCoding RefusedModelCoding RefusedModelsCoding RefusedOptionalCoding
        UniqueCoding
        """,
        "HabitStoreMetrics": """
        MetricDescription MetricFamily PrometheusMetrics
        """,
        "HabitStoreRollout": """
        Backfill BackupManifest BackupOutcome ExternalErasure ErasureOutcome EvidenceChain EvidenceCheckpoint EvidenceEvent EvidenceHead EvidenceKeys EvidenceListing
        EvidenceLog EvidenceRecord EvidenceReset EvidenceSummary EvidenceVerification Gate GateDecision
        FlagOrigin GateInput GatePolicy GateReason KillSwitch MigrationCopy MirrorOptions MirrorStatus QueryRecorder RolloutFlagProvider RolloutFlags RolloutOptions
        RestorationOutcome ResyncOutcome RetirementOutcome Runbook RunbookEntry ShadowReadOptions ShadowVerdict Stage StageChangeReason StoreSide
        UserBackup UserDirectory UserFinding UserListing UserStatus UserStore UserStores VersionComparison
        """,
        "HabitStoreSQLite": """
        SQLiteHabitStore SQLiteProvider
        """,
        "HabitTracker": """
        Completion DayCount Draft Entry Habit HabitCalendar HabitMigrationPlan HabitSchedule HabitSchema HabitSchemaV1 HabitSchemaV2
        HabitSchemaV3 HabitTrackingError LocalDay StreakUnit Streaks Tag
        """,
        "ShadowVerifier": """
        Expectations IgnoreRule IgnoreRuleUse IgnoreRules MismatchRecorder MismatchRecording MismatchReplay
        PairExpectation QueryComparison QueryFile ShadowVerifier StoreAnomaly StoreDifference
        VerificationDepth VerificationOptions VerificationReport
        """,
        "StandardEngines": """

        """,
    ]

    @Test(arguments: types.keys.sorted())
    func appsSeeTheTypesOfTheListOnly(_ module: String) throws {
        let root = URL(fileURLWithPath: #filePath)
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        let folder = root.appendingPathComponent((module == "HabitTracker" ? "Tracker/" : "Sources/") + module).path
        var seen: Set<String> = []
        for case let name as String in try #require(FileManager.default.enumerator(atPath: folder))
        where name.hasSuffix(".swift") {
            let text = try String(contentsOfFile: folder + "/" + name, encoding: .utf8)
            guard text.contains("public") || text.contains("open") else { continue }
            let lines = text.utf8.split(separator: UInt8(ascii: "\n")).map { Substring($0) }
            for (place, line) in lines.enumerated() where !lines[..<place].suffix(1).contains("@_spi(Engines)") {
                let type =
                    /(@\w+(\(\w+\))? )*(public|open) ((final|indirect) )*(struct|class|enum|protocol|typealias|actor) (?<name>\w+).*/
                guard line.hasPrefix("public ") || line.hasPrefix("open ") || line.hasPrefix("@"),
                    !line.hasPrefix("@_spi"), let match = line.wholeMatch(of: type)
                else { continue }
                seen.insert(String(match.name))
            }
        }
        let listed = Set(try #require(Self.types[module]).split { $0 == " " || $0 == "\n" }.map(String.init))
        #expect(seen.subtracting(listed).sorted() == [], "who needs it? see Two surfaces in CONTRIBUTING")
        #expect(listed.subtracting(seen).sorted() == [], "apps lost it")
    }

    private static let others: Set<Substring> = [
        "Array", "Bool", "Collection", "Data", "Date", "Dictionary", "Double", "Int", "Optional", "Sequence", "Set",
        "String", "URL", "UUID",
    ]

    @Test func nothingPublicIsAddedToTypesOfOthers() throws {
        let root = URL(fileURLWithPath: #filePath)
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        let names = try ["Sources", "Lab/RolloutTesting"].flatMap { folder in
            try FileManager.default.subpathsOfDirectory(atPath: root.appendingPathComponent(folder).path)
                .map { "\(folder)/\($0)" }
        }
        for name in names where name.hasSuffix(".swift") {
            var type: Substring?
            let text = try String(contentsOf: root.appendingPathComponent(name), encoding: .utf8)
            guard text.contains("public") else { continue }
            for line in text.utf8.split(separator: UInt8(ascii: "\n")).map({ Substring($0) }) {
                if line == "}" { type = nil }
                if line.hasPrefix("extension ") {
                    let head = line.firstRange(of: " where ").map { line[..<$0.lowerBound] } ?? line
                    // A conformance shows its requirements to everyone; a collection of our type is ours.
                    let isOurs = head.contains(":") || head.contains("<")
                    type = isOurs ? nil : head.dropFirst(10).drop { $0 == "[" }.prefix { $0.isLetter }
                }
                guard let type, Self.others.contains(type), line.contains("public "), !line.contains("@_spi") else {
                    continue
                }
                // Migration hooks derive identifiers with it.
                #expect(line.contains("public static func named("), "\(name): \(type) is not ours")
            }
        }
    }
}
