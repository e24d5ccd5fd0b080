import Foundation
import HabitStoreFleet
import HabitStoreRollout

/// The contents of the templates. All text from files is plain text here; the templates escape it.
struct PageModel {
    /// A segment of the bar of stages.
    struct StageShare {
        let name: String
        let className: String
        let users: String
        let percent: String
        /// The position in the bar, of 1,000.
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

    /// A piece of a sentence: text or code.
    struct Piece: Equatable {
        let text: String
        let isCode: Bool

        /// Splits a sentence with code between backticks.
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

    /// The state in a word that is clear without its colour.
    let state: String
    let stateClass: String
    let sentence: String
    /// The reason for waiting, or the remaining time.
    let details: [Line]
    /// What to do about the halt; nil if there is none.
    let halt: ReasonRow?
    /// Why the fleet cannot be read; empty if it can.
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
