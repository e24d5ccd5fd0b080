import ArgumentParser
import HabitStore
import HabitStoreRollout
import StandardEngines

/// What the child does to its user's stage.
enum Move: String, CaseIterable, ExpressibleByArgument {
    case forward
    case backByFlags
    case backByHand
    case kill
    case retire

    /// The stage it leads to; nil where there is none.
    func target(from stage: Stage) -> Stage? {
        switch self {
        case .forward: stage.next
        case .backByFlags, .backByHand: Stage.allCases.last { $0 < stage }
        case .kill: .off
        case .retire: stage == .complete ? .complete : nil
        }
    }
}

extension EngineName: ExpressibleByArgument {}
extension Stage: ExpressibleByArgument {}
