import HabitStore
import HabitStoreOperator
import HabitStoreRollout
import LedgerModel

@main
struct LedgerOperator: RolloutCommand {
    static let name = "ledger-ops"
    static let schema = Ledger.schema
    static var engines: Engines { get throws { try Ledger.engines } }

    static func configure(_ options: inout RolloutOptions) { Ledger.configure(&options) }
}
