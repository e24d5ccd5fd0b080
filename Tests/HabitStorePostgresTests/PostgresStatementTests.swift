import Foundation
import Testing

@testable import HabitStorePostgres

@Suite("Statements sent to servers")
struct PostgresStatementTests {
    /// Features that some compatible product lacks or treats differently: see the article *On-disk formats*.
    private static let foreign = [
        "advisory", "nextval", "create sequence", "trigger", "listen", "notify", "savepoint", "collate", "ctid",
        "deferrable",
        "temporary", "temp ", "function", "serial", "returning",
    ]

    @Test func statementsAskForNothingThatOnlyOneProductHas() {
        for statement in PostgresStatement.all + PostgresTables.statements {
            let text = statement.text.lowercased()
            for word in Self.foreign { #expect(!text.contains(word), "\(statement.name) has \(word)") }
        }
    }

    @Test func everyStatementOnTablesNamesItsStore() {
        let named = ["store = $1", "SELECT $1, ", "VALUES ($1, "]
        for statement in PostgresStatement.all where statement.text.contains(" hs_") {
            #expect(named.contains { statement.text.contains($0) }, "\(statement.name)")
        }
    }

    @Test func noTwoStatementsHaveOneName() {
        let all =
            PostgresStatement.all + PostgresTables.statements + PostgresTableCheck.calls.map(\.statement)
        #expect(Set(all.map(\.name)).count == all.count)
        // Servers truncate longer names, and would confuse two of them.
        #expect(all.allSatisfy { $0.name.utf8.count < 64 })
    }
}
