extension GateReason {
    /// The reasons' names, without their values. A new reason needs a name here, and an entry in the ``Runbook``.
    package enum Kind: String, Sendable, Hashable, CaseIterable {
        case stageSkipped, alreadyThere, notProposed, notTakenBack, notComplete, retentionNotOver, killed,
            notBackfilled,
            mirrorParted, lagging, verificationMissing, verificationStale, verificationNotClean, coverageIncomplete,
            repairedSince, selfComparisonMissing, selfComparisonFailed, tooFewShadowReads, shadowDifferences,
            rollbackNotRehearsed, rehearsalFailed, evidenceExpired, evidenceDamaged, evidenceUnwritable, ignoredRules,
            anchorMissing, anotherUsersEvidence
    }

    /// The case's name, without its values.
    package var caseName: Kind {
        switch self {
        case .stageSkipped: .stageSkipped
        case .alreadyThere: .alreadyThere
        case .notProposed: .notProposed
        case .notTakenBack: .notTakenBack
        case .notComplete: .notComplete
        case .retentionNotOver: .retentionNotOver
        case .killed: .killed
        case .notBackfilled: .notBackfilled
        case .mirrorParted: .mirrorParted
        case .lagging: .lagging
        case .verificationMissing: .verificationMissing
        case .verificationStale: .verificationStale
        case .verificationNotClean: .verificationNotClean
        case .coverageIncomplete: .coverageIncomplete
        case .repairedSince: .repairedSince
        case .selfComparisonMissing: .selfComparisonMissing
        case .selfComparisonFailed: .selfComparisonFailed
        case .tooFewShadowReads: .tooFewShadowReads
        case .shadowDifferences: .shadowDifferences
        case .rollbackNotRehearsed: .rollbackNotRehearsed
        case .rehearsalFailed: .rehearsalFailed
        case .evidenceExpired: .evidenceExpired
        case .evidenceDamaged: .evidenceDamaged
        case .evidenceUnwritable: .evidenceUnwritable
        case .ignoredRules: .ignoredRules
        case .anchorMissing: .anchorMissing
        case .anotherUsersEvidence: .anotherUsersEvidence
        }
    }
}
