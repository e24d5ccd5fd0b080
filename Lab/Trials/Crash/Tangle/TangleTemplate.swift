import HabitStoreRollout

/// What a user of the tangle is when the processes begin.
enum TangleTemplate: Hashable, CustomStringConvertible {
    /// A few records, at a stage.
    case stage(Stage)
    /// Thousands of records at `off`, so that the mirror's first copy takes long.
    case filled
    /// Thousands of records at `complete`, whose old store was removed: a way back is a copy.
    case missing
    /// Thousands of records at `complete`, whose history does not reach back to the old store: a way back is a copy.
    case pruned
    /// Thousands of records at `shadow`, of which the mirror lacks one.
    case differing

    static let stages = Stage.allCases.map { Self.stage($0) }
    static let all = stages + [.filled, .missing, .pruned]

    /// The stage.
    var at: Stage {
        switch self {
        case .stage(let stage): stage
        case .filled: .off
        case .missing, .pruned: .complete
        case .differing: .shadow
        }
    }

    /// How many records there are beside those that are counted.
    var bulk: Int {
        if case .stage = self { return 0 }
        return 2_000
    }

    var description: String {
        switch self {
        case .stage(let stage): stage.rawValue
        case .filled: "off with much in it"
        case .missing: "complete without the old store"
        case .pruned: "complete with its history pruned"
        case .differing: "shadow with a mirror that differs"
        }
    }
}
