import Foundation
@_spi(Engines) import HabitStore
import HabitTracker
import Testing

@testable import HabitStorePostgres
@testable import PostgresTesting

@Suite("PostgreSQL: connecting", .needsServer)
struct PostgresConnectionTests {
    private func run(_ server: String, _ text: String) throws -> [PostgresResult] {
        let pool = PostgresPool.of(server)
        let call = PostgresCall(PostgresStatement(name: UUID().uuidString, text: text), [])
        return try pool.withConnection(until: pool.deadline) { try $0.run([call], until: pool.answerDeadline) }
    }

    /// To libpq `connect_timeout=0` means no limit: opening a server that accepted connections and never answered did not return.
    @Test(arguments: ["0", "-1", "3600"])
    func aServerThatSaysNothingIsNotWaitedForWithoutLimit(_ timeout: String) throws {
        let (listener, port) = try LoopbackSocket.listening()
        defer { LoopbackSocket.close(listener) }
        let server = "postgresql://habitstore@127.0.0.1:\(port)/postgres?connect_timeout=\(timeout)"
        let begun = ContinuousClock.now
        #expect {
            try PostgresHabitStore(
                PostgresPlace(server: server, name: "x"),
                schema: HabitSchema.current,
                options: .init(waitSeconds: 1)
            )
        } throws: {
            ($0 as? HabitStoreError)?.code == .inputOutput
        }
        #expect(ContinuousClock.now - begun < .seconds(60))
    }

    /// The error said that the server could not be reached, and to check that it runs.
    @Test func aServerWithoutFreeConnectionsSaysSo() throws {
        let server = try TestServer.place().server
        let user = "user_" + UUID().uuidString.lowercased().replacing("-", with: "_")
        _ = try run(server, "CREATE ROLE \(user) LOGIN CONNECTION LIMIT 0")
        defer { _ = try? run(server, "DROP ROLE \(user)") }
        let limited = server.replacing(/\/\/[^@]*@/, with: "//\(user)@")
        #expect {
            try PostgresServer(limited).check()
        } throws: {
            guard let error = $0 as? HabitStoreError else { return false }
            return error.code == .busy && error.message.contains("no connection left")
        }
    }

    /// The server ended a read that worked for more than a minute between two pages.
    @Test func aTransactionMayWorkForMinutesBetweenTwoQuestions() throws {
        let server = try TestServer.place().server
        let answer = try run(server, "SELECT current_setting('idle_in_transaction_session_timeout')")[0]
        #expect(try answer.text(0, 0) == PostgresPool.idleLimit)
    }

    /// Page sizes were limited in rows: 4,096 records of a megabyte each were one page, in memory at the same time.
    @Test func aPageOfLargeRecordsHasFewOfThem() throws {
        let proxy = try PostgresProxy(to: TestServer.port)
        defer { proxy.close() }
        let place = PostgresPlace(server: try TestServer.uri(of: proxy), name: try TestServer.place().name)
        let store = try PostgresHabitStore(place, schema: HabitSchema.current)
        let drafts = (0..<60).map { Draft(content: String(repeating: "\($0 % 10)", count: 400_000)) }
        let insert = try trips(proxy) { try store.insert(drafts) }
        // 24 MB are sent in two parts.
        #expect(insert.count == 4)
        var found: [Draft] = []
        let fetch = try trips(proxy) { found = try store.all(Draft.self) }
        #expect(found == drafts.sorted { $0.id.isBefore($1.id) })
        // 11 records are the first to reach 4 MiB.
        #expect(fetch.count == 6)
        let backwards = try trips(proxy) {
            found = try store.fetch(FetchDescriptor(sortBy: [SortDescriptor(\.id, order: .reverse)], fetchLimit: 30))
        }
        #expect(found == Array(drafts.sorted { $1.id.isBefore($0.id) }.prefix(30)))
        #expect(backwards.count == 3)
    }

    private func trips(_ proxy: PostgresProxy, _ body: () throws -> Void) throws -> [[String]] {
        proxy.beginCounting()
        try body()
        return proxy.roundTrips
    }
}
