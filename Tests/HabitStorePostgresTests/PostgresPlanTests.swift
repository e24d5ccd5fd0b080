import Foundation
import Testing

@testable import HabitStorePostgres

@Suite("PostgreSQL: how it finds rows", .needsServer)
struct PostgresPlanTests {
    private static func run(_ connection: PostgresConnection, _ text: String) throws -> PostgresResult {
        let call = PostgresCall(PostgresStatement(name: UUID().uuidString, text: text), [])
        return try connection.run([call], until: .after(seconds: 20))[0]
    }

    /// A database whose tables are empty according to their statistics, and a connection to it.
    private static func withEmptyDatabase(_ body: (PostgresConnection) throws -> Void) throws {
        let uri = try TestServer.place().server
        let name = "plans_\(UInt32.random(in: 0 ... .max))"
        let server = uri.replacing(/(@[^\/]*)\/[^?]*/) { "\($0.output.1)/\(name)" }
        try PostgresPool.of(uri).withConnection(until: .after(seconds: 20)) { connection in
            _ = try run(connection, "CREATE DATABASE \(name)")
            let result = Result {
                try PostgresServer(server).prepare()
                try PostgresPool.of(server).withConnection(until: .after(seconds: 20)) { connection in
                    for table in PostgresTables.all { _ = try run(connection, "VACUUM ANALYZE \(table.name)") }
                    try body(connection)
                }
            }
            _ = try run(connection, "DROP DATABASE \(name) WITH (FORCE)")
            try result.get()
        }
    }

    private static func plan(_ connection: PostgresConnection, _ statement: PostgresStatement) throws -> String {
        let values = statement.text.matches(of: /\$(\d)/).compactMap { Int($0.output.1) }.max() ?? 0
        let nulls = values == 0 ? "" : "(\(Array(repeating: "NULL", count: values).joined(separator: ", ")))"
        _ = try run(connection, "PREPARE \(statement.name) AS \(statement.text)")
        let lines = try run(connection, "EXPLAIN EXECUTE \(statement.name)\(nulls)")
        return try (0..<lines.count).map { try lines.text($0, 0) }.joined(separator: "\n")
    }

    /// A session that had planned while a table was empty kept reading all of it for each record until the server renewed its statistics: 20 ms for a
    /// record among 40,000.
    @Test func nothingReadsAWholeTableEvenIfItWasPlannedWhileThatWasEmpty() throws {
        try Self.withEmptyDatabase { connection in
            _ = try Self.run(connection, "SET plan_cache_mode = force_generic_plan")
            for statement in PostgresStatement.all where statement.text.contains(" hs_") {
                let plan = try Self.plan(connection, statement)
                #expect(!plan.contains("Seq Scan on hs_"), "\(statement.name): \(plan)")
            }
        }
    }

    /// In a store that the statistics did not know, each record of a range, each removed record and each identifier to check scanned all records: 50
    /// ms for 30 records of 5,000, and as much for inserting 500.
    @Test func nothingGoesThroughAllRowsOfAStoreForEachThatIsLookedFor() throws {
        try Self.withEmptyDatabase { connection in
            _ = try Self.run(connection, "SET plan_cache_mode = force_generic_plan")
            for statement in PostgresStatement.all where statement.text.contains(" hs_") {
                let plan = try Self.plan(connection, statement)
                #expect(!plan.contains("Join Filter"), "\(statement.name): \(plan)")
            }
            for reverse in [false, true] {
                for statement in [
                    PostgresStatement.walk(.entries, reverse: reverse), .walkSeveral(.entries, reverse: reverse),
                ] {
                    _ = try Self.run(connection, "DEALLOCATE \(statement.name)")
                    let plan = try Self.plan(connection, statement)
                    #expect(plan.contains("(entity = $6) AND (id = "), "\(statement.name): \(plan)")
                }
            }
            _ = try Self.run(connection, "DEALLOCATE \(PostgresStatement.taken.name)")
            let plan = try Self.plan(connection, .taken)
            #expect(plan.contains("(entity = $2) AND (id = u.id)"), "\(plan)")
        }
    }
}
