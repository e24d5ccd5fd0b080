import HabitStoreRollout

/// The state of the sweep's user when the processes start.
enum TangleTemplate: Hashable, CustomStringConvertible {
    /// A few records, at a stage.
    case stage(Stage)
    /// Thousands of records at `off`, so that the mirror's first copy takes long.
    case filled
    /// Thousands of records at `complete`, with the old store removed: the way back is a copy.
    case missing
    /// Thousands of records at `complete`, with a history that does not reach back to the old store: the way back is a copy.
    case pruned
    /// Thousands of records at `shadow`, one of which the mirror lacks.
    case differing

    static let stages = Stage.allCases.map { Self.stage($0) }
    static let all = stages + [.filled, .missing, .pruned]

    /// The stage of the user.
    var at: Stage {
        switch self {
        case .stage(let stage): stage
        case .filled: .off
        case .missing, .pruned: .complete
        case .differing: .shadow
        }
    }

    /// The number of records in addition to those of counted writes.
    var bulk: Int {
        if case .stage = self { return 0 }
        return 2_000
    }

    var description: String {
        switch self {
        case .stage(let stage): stage.rawValue
        case .filled: "off with many records"
        case .missing: "complete without the old store"
        case .pruned: "complete with its history pruned"
        case .differing: "shadow with a mirror that differs"
        }
    }
}
