import Foundation
import HabitStore
import HabitTracker
import Testing

@testable import HabitStorePostgres

/// The findings of `habitstore server check` about a server's tables.
@Suite("PostgreSQL: what a server lacks", .needsServer)
struct PostgresServerTests {
    /// A change to the tables, and the findings about it.
    struct Change: CustomTestStringConvertible {
        let statements: [String]
        let lacks: [String]

        init(_ statements: String..., lacks: String...) { (self.statements, self.lacks) = (statements, lacks) }

        var testDescription: String { statements.joined(separator: "; ") }
    }

    /// A separate schema for the tables.
    private static func schema() throws -> (name: String, server: String) {
        let name = "check_" + UUID().uuidString.lowercased().replacing("-", with: "_")
        let server = try TestServer.place().server
        try run(server, "CREATE SCHEMA \(name)")
        return (name, server + "?options=-csearch_path%3D\(name)")
    }

    private static func run(_ server: String, _ text: String) throws {
        let pool = PostgresPool.of(server)
        let call = PostgresCall(PostgresStatement(name: UUID().uuidString, text: text), [])
        _ = try pool.withConnection(until: pool.deadline) { try $0.run([call], until: pool.answerDeadline) }
    }

    /// The findings about the tables, without those about the test server's setup.
    private static func lacks(_ server: String) throws -> [String] {
        try PostgresServer(server).check().filter {
            $0.contains("hs_") || $0.contains("table") || $0.contains("encoding")
        }
    }

    static let changes = [
        Change("SELECT 1"),
        Change(
            "ALTER TABLE hs_record SET UNLOGGED",
            lacks:
                "hs_record is unlogged: a crash of the server empties it, and a standby has none of it; set it to LOGGED"
        ),
        Change(
            "ALTER TABLE hs_store DROP COLUMN meta_sum, DROP COLUMN digests",
            lacks: "hs_store has no column digests (bytea): it is of another version",
            "hs_store has no column meta_sum (bytea): it is of another version"
        ),
        Change(
            "ALTER TABLE hs_meta ALTER COLUMN value TYPE character varying(40)",
            lacks: "hs_meta.value is of type character varying(40), and should be text"
        ),
        Change(
            "ALTER TABLE hs_history ADD COLUMN odd text, ADD COLUMN needed text NOT NULL",
            lacks: "hs_history has a column needed that must be given a value; drop it"
        ),
        Change(
            "ALTER TABLE hs_digest DROP CONSTRAINT hs_digest_pkey",
            lacks: "hs_digest has the primary key (), and should have (store, entity, first)"
        ),
        Change(
            "CREATE TRIGGER spy BEFORE UPDATE ON hs_store FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger()",
            lacks: "hs_store has triggers (spy), which may change what is written; drop them"
        ),
        Change(
            "CREATE RULE spy AS ON DELETE TO hs_meta DO INSTEAD NOTHING",
            lacks: "hs_meta has rules (spy), which may change what is asked and written; drop them"
        ),
        Change(
            "ALTER TABLE hs_index ENABLE ROW LEVEL SECURITY",
            lacks: "hs_index has row level security, by which rows are hidden from some users; disable it"
        ),
        Change(
            "DROP TABLE hs_digest",
            lacks: "it has no table hs_digest, or the user may not see it; run `habitstore server prepare`"
        ),
    ]

    @Test(arguments: changes)
    func checkSaysWhatIsWrongWithTheTables(_ change: Change) throws {
        let (name, server) = try Self.schema()
        defer { try? Self.run(server, "DROP SCHEMA \(name) CASCADE") }
        #expect(try Self.lacks(server) == ["it has no tables for stores; run `habitstore server prepare`"])
        try PostgresServer(server).prepare()
        #expect(try Self.lacks(server).isEmpty)
        for text in change.statements { try Self.run(server, text) }
        #expect(try Self.lacks(server) == change.lacks)
    }

    /// Tables of the same names that come first on `search_path` are the ones used.
    @Test func checkSaysWhichTablesAreHidden() throws {
        let (first, server) = try Self.schema()
        let (second, other) = try Self.schema()
        defer { for name in [first, second] { try? Self.run(server, "DROP SCHEMA \(name) CASCADE") } }
        try PostgresServer(other).prepare()
        try Self.run(server, "CREATE TABLE hs_meta (LIKE \(second).hs_meta INCLUDING INDEXES)")
        let both = other.replacing(second, with: "\(first),\(second)")
        #expect(
            try Self.lacks(both) == [
                "there is another hs_meta on search_path (that of \(first) is used, and not that of \(second)); "
                    + "drop one of them, or set search_path",
                "the tables are in several schemas (\([first, second].sorted().joined(separator: ", "))); set search_path to one of them",
            ]
        )
    }

    @Test func checkSaysWhichRightsTheUserLacks() throws {
        let (name, server) = try Self.schema()
        try PostgresServer(server).prepare()
        let user = "user_\(name)"
        for text in [
            "CREATE ROLE \(user) LOGIN", "GRANT USAGE ON SCHEMA \(name) TO \(user)",
            "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA \(name) TO \(user)",
        ] { try Self.run(server, text) }
        defer {
            for text in ["DROP OWNED BY \(user)", "DROP ROLE \(user)", "DROP SCHEMA \(name) CASCADE"] {
                try? Self.run(server, text)
            }
        }
        let granted = server.replacing(/\/\/[^@]*@/, with: "//\(user)@")
        #expect(try Self.lacks(granted).isEmpty)
        try Self.run(server, "REVOKE UPDATE, DELETE ON hs_record FROM \(user)")
        #expect(try Self.lacks(granted) == ["the user lacks rights on hs_record (UPDATE, DELETE); grant them"])
    }

    @Test func checkSaysThatNamesCannotBeWritten() throws {
        let server = try TestServer.place().server
        let name = "check_" + UUID().uuidString.lowercased().replacing("-", with: "_")
        try Self.run(server, "CREATE DATABASE \(name) TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C'")
        defer { try? Self.run(server, "DROP DATABASE \(name) WITH (FORCE)") }
        let latin = server.replacing(/\/[^\/]*$/, with: "/\(name)")
        try PostgresServer(latin).prepare()
        #expect(
            try Self.lacks(latin) == [
                "the database's encoding is LATIN1, in which not every store's name can be written; use one in UTF8"
            ]
        )
    }

    @Test func preparingTwiceChangesNothing() throws {
        let (name, server) = try Self.schema()
        defer { try? Self.run(server, "DROP SCHEMA \(name) CASCADE") }
        try PostgresServer(server).prepare()
        let place = PostgresPlace(server: server, name: "user")
        let store = try PostgresHabitStore(place, schema: HabitSchema.current)
        try store.save(Habit(name: "Run"))
        try PostgresServer(server).prepare()
        #expect(try store.all(Habit.self).count == 1)
        #expect(try store.check { _ in }.isEmpty)
    }
}
