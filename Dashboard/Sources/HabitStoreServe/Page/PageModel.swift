import Foundation
import HabitStoreFleet
import HabitStoreRollout

/// What the templates show, as words: everything that comes from a file is plain text here, and escaped by the templates.
struct PageModel {
    /// A share of the bar of stages.
    struct StageShare {
        let name: String
        let className: String
        let users: String
        let percent: String
        /// The place in the bar, of 1,000.
        let x: String
        let width: String
        let meaning: String
    }

    struct WaveRow {
        let number: String
        let name: String
        let state: String
        let stateClass: String
        let users: String
        let arrived: String
        let cleanReads: String
        let writes: String
        let refused: String
        let soak: String
        let isCurrent: Bool
    }

    /// A piece of a sentence: words, or what is typed.
    struct Piece: Equatable {
        let text: String
        let isCode: Bool

        /// The pieces of a sentence in which code stands between backticks.
        static func pieces(_ sentence: String) -> [Piece] {
            sentence.split(separator: "`", omittingEmptySubsequences: false).enumerated().map { place, text in
                Piece(text: String(text), isCode: !place.isMultiple(of: 2))
            }.filter { !$0.text.isEmpty }
        }
    }

    /// A sentence in pieces.
    struct Line {
        let pieces: [Piece]

        init(_ sentence: String) { pieces = Piece.pieces(sentence) }
    }

    struct ReasonRow {
        let users: String
        let kind: String
        let symptom: [Piece]
        let meaning: [Piece]
        let command: String
        let check: [Piece]
    }

    struct DifferenceRow {
        let user: String
        let stage: String
        let message: String
        let replay: String
        /// The command that rebuilds the following store.
        let help: String
    }

    struct Figure {
        let what: String
        let old: String
        let new: String
        let change: String
    }

    struct Fact {
        let name: String
        let value: String
        let isBad: Bool
    }

    struct UserRow {
        let user: String
        let wave: String
        let stage: String
        let size: String
        let since: String
        let reasons: String
    }

    struct AuditRow {
        let number: String
        let time: String
        let precise: String
        let what: String
        let details: String
        let isBad: Bool
    }

    /// What it is doing, in a word that does not need a colour.
    let state: String
    let stateClass: String
    let sentence: String
    /// What it waits for, or how long is left.
    let details: [Line]
    /// What helps against what has halted it; nil where nothing has.
    let halt: ReasonRow?
    /// What keeps the fleet from being read; empty where nothing does.
    let problem: [Piece]
    let kill: String?

    let stages: [StageShare]
    let waves: [WaveRow]
    let reasons: [ReasonRow]
    let differences: [DifferenceRow]
    let moreDifferences: String?
    let figures: [Figure]
    let plots: [String]
    let lag: String
    let lagPlots: [String]
    let killFacts: [Fact]
    let slowest: [UserRow]
    let largest: [UserRow]
    let audit: [AuditRow]
    let auditState: String
    let isAuditDamaged: Bool
}
