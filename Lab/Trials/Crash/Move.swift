import ArgumentParser
import HabitStore
import HabitStoreRollout
import StandardEngines

/// The stage change that the child makes.
enum Move: String, CaseIterable, ExpressibleByArgument {
    case forward
    case backByFlags
    case backByHand
    case kill
    case retire

    /// The target stage; nil if the move is impossible.
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
