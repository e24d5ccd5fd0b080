import Foundation
import HabitStore
import HabitStoreTesting
import Testing

@testable import HabitStoreSQLite

@Suite("SQLite wrapper: statements")
struct SQLiteWrapperTestsStatement {
    private func withTable(_ body: (SQLiteConnection) throws -> Void) throws {
        let folder = try TemporaryFolder()
        let connection = try SQLiteConnection(path: folder.file(), mode: .create)
        try connection.exec("CREATE TABLE v (id INTEGER PRIMARY KEY, a ANY, r REAL) STRICT")
        try body(connection)
        connection.close()
    }

    private func roundTrip<T>(
        _ connection: SQLiteConnection,
        _ bind: (SQLiteStatement) throws -> Void,
        _ read: (SQLiteStatement) throws -> T
    ) throws -> T {
        try connection.exec("DELETE FROM v")
        try connection.withStatement("INSERT INTO v (a) VALUES (?1)") { statement in
            try bind(statement)
            try statement.run()
        }
        return try connection.withStatement("SELECT a FROM v") { statement in
            try #require(try statement.step())
            return try read(statement)
        }
    }

    @Test func integersComeBackOverTheirWholeRange() throws {
        try withTable { connection in
            for value in [Int64.min, Int64.min + 1, -1, 0, 1, Int64(1) << 53 + 1, Int64.max - 1, Int64.max] {
                let back = try roundTrip(connection, { try $0.bind(value, at: 1) }, { $0.int64(at: 0) })
                #expect(back == value)
            }
        }
    }

    @Test func realsComeBackBitForBitButForTheSignOfZeroInARealColumn() throws {
        let values = [
            -0.0, 0.0, 1.0, 0.1, -1e300, Double.pi, .leastNonzeroMagnitude, .leastNormalMagnitude,
            .greatestFiniteMagnitude, .infinity, -.infinity,
        ]
        try withTable { connection in
            for column in ["a", "r"] {
                for value in values {
                    try connection.exec("DELETE FROM v")
                    try connection.withStatement("INSERT INTO v (\(column)) VALUES (?1)") { statement in
                        try statement.bind(value, at: 1)
                        try statement.run()
                    }
                    try connection.withStatement("SELECT \(column) FROM v") { statement in
                        try #require(try statement.step())
                        #expect(statement.type(at: 0) == .real)
                        // SQLite stores an integral number in a REAL column as an integer, and there is no integer -0.
                        let kept = column == "r" && value == 0 ? 0.0 : value
                        #expect(statement.double(at: 0).bitPattern == kept.bitPattern, "\(value) in \(column)")
                    }
                }
            }
        }
    }

    @Test func notANumberIsRefusedAndNotMadeNull() throws {
        try withTable { connection in
            try connection.withStatement("INSERT INTO v (a) VALUES (?1)") { statement in
                try expectSQLiteWrapperError(.invalidValue) { try statement.bind(Double.nan, at: 1) }
            }
        }
    }

    @Test func textComesBackWithNULsAndEmptyTextIsNotNull() throws {
        try withTable { connection in
            let long = String(repeating: "añ\u{0}🏃", count: 5_000)
            for value in ["", "a", "\u{0}", "a\u{0}b", "e\u{301}", "é", "🏃🏽‍♀️", "\u{FFFD}", long] {
                let back = try roundTrip(connection, { try $0.bind(value, at: 1) }, { try $0.text(at: 0) })
                #expect(Array(back.utf8) == Array(value.utf8))
            }
            #expect(try roundTrip(connection, { try $0.bindNull(at: 1) }, { $0.isNull(at: 0) }))
        }
    }

    @Test func bytesThatAreNoUTF8AreAnErrorThatNamesTheColumn() throws {
        try withTable { connection in
            for bytes in ["ff", "61c3", "eda080", "c080", "f4908080"] {
                try connection.exec("DELETE FROM v; INSERT INTO v (a) VALUES (CAST(x'\(bytes)' AS TEXT))")
                try connection.withStatement("SELECT a AS note FROM v") { statement in
                    try #require(try statement.step())
                    let error = try requireSQLiteWrapperError(.corrupt) { _ = try statement.text(at: 0) }
                    #expect(error.location.attribute == "note")
                    #expect(statement.bytes(at: 0).count == bytes.count / 2)
                }
            }
        }
    }

    @Test func blobsOfEverySizeComeBack() throws {
        try withTable { connection in
            for count in [0, 1, 15, 16, 17, 4_096, 3_000_000] {
                let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) }
                for isInPlace in [false, true] {
                    let back = try bytes.withUnsafeBytes { buffer in
                        try roundTrip(
                            connection,
                            { isInPlace ? try $0.bindInPlace(buffer, at: 1) : try $0.bind(buffer, at: 1) },
                            { statement in
                                #expect(statement.type(at: 0) == .blob)
                                return Array(try statement.blob(at: 0))
                            }
                        )
                    }
                    #expect(back == bytes)
                }
            }
        }
    }

    @Test func identifiersAreSixteenBytesAndNothingElse() throws {
        try withTable { connection in
            let id = UUID()
            #expect(try roundTrip(connection, { try $0.bind(id, at: 1) }, { try $0.uuid(at: 0) }) == id)
            for other in ["x'00'", "x'0011223344556677889900112233445566'", "'0123456789abcdef'", "7", "NULL", "x''"] {
                try connection.exec("DELETE FROM v; INSERT INTO v (a) VALUES (\(other))")
                try connection.withStatement("SELECT a FROM v") { statement in
                    try #require(try statement.step())
                    try expectSQLiteWrapperError(.corrupt) { _ = try statement.uuid(at: 0) }
                }
            }
        }
    }

    @Test func severalIdentifiersOfOneStatementDoNotShareTheirBytes() throws {
        try withTable { connection in
            let ids = (0..<3).map { _ in UUID() }
            try connection.withStatement("SELECT ?1, ?2, ?3") { statement in
                for (index, id) in ids.enumerated() { try statement.bind(id, at: Int32(index + 1)) }
                try #require(try statement.step())
                for (index, id) in ids.enumerated() { #expect(try statement.uuid(at: Int32(index)) == id) }
                // Bound values cannot change while a row is read.
                try expectSQLiteWrapperError(.internalInconsistency) { try statement.bind(UUID(), at: 1) }
                #expect(try statement.uuid(at: 0) == ids[0])
            }
        }
    }

    @Test func aParameterThatDoesNotExistIsAnErrorValue() throws {
        try withTable { connection in
            try connection.withStatement("SELECT ?1") { statement in
                for index in [Int32(0), 2, -1, .max] {
                    try expectSQLiteWrapperError(.internalInconsistency) { try statement.bind(Int64(1), at: index) }
                    try expectSQLiteWrapperError(.internalInconsistency) { try statement.bind(UUID(), at: index) }
                }
            }
        }
    }

    @Test func aFinishedStatementDoesNotRunAgainByItself() throws {
        try withTable { connection in
            let statement = try connection.prepare("INSERT INTO v (a) VALUES (1)")
            #expect(try !statement.step())
            #expect(try !statement.step())
            #expect(try connection.int64("SELECT count(*) FROM v") == 1)
            try statement.run()
            statement.reset()
            #expect(try !statement.step())
            #expect(try connection.int64("SELECT count(*) FROM v") == 2)
        }
    }

    @Test func statementsAreReusedWithoutTheirOldValues() throws {
        try withTable { connection in
            let before = connection.cache.preparations
            for value in 0..<10 {
                try connection.withStatement("SELECT ?1") { statement in
                    if value.isMultiple(of: 2) { try statement.bind(Int64(value), at: 1) }
                    try #require(try statement.step())
                    #expect(statement.isNull(at: 0) != value.isMultiple(of: 2))
                }
            }
            #expect(connection.cache.preparations == before + 1)
        }
    }

    @Test func aQueryInsideTheSameQueryHasAStatementOfItsOwn() throws {
        try withTable { connection in
            try connection.exec("INSERT INTO v (a) VALUES (1), (2), (3)")
            var pairs = 0
            try connection.withStatement("SELECT a FROM v") { outer in
                while try outer.step() {
                    try connection.withStatement("SELECT a FROM v") { inner in
                        while try inner.step() { pairs += 1 }
                    }
                }
            }
            #expect(pairs == 9)
        }
    }

    @Test func theCacheLetsGoOfTheLongestUnused() throws {
        let folder = try TemporaryFolder()
        var options = SQLiteOptions()
        options.cachedStatements = 3
        let connection = try SQLiteConnection(path: folder.file(), mode: .create, options: options)
        func use(_ number: Int) throws { try connection.withStatement("SELECT \(number)") { _ = try $0.step() } }
        for number in [1, 2, 3, 1, 4] { try use(number) }
        #expect(connection.cache.count == 3)
        let before = connection.cache.preparations
        for number in [1, 3, 4] { try use(number) }
        #expect(connection.cache.preparations == before)
        try use(2)
        #expect(connection.cache.preparations == before + 1)
        #expect(connection.cache.count == 3)
    }

    /// In any order, and more of them than are compared before the texts are hashed.
    @Test(arguments: [51, 52] as [UInt64]) func eachTextHasItsOwnStatementInWhateverOrderTheyCome(seed: UInt64) throws {
        print("seed \(seed)")
        var random = SeededGenerator(seed: seed)
        let folder = try TemporaryFolder()
        var options = SQLiteOptions()
        options.cachedStatements = 30
        let connection = try SQLiteConnection(path: folder.file(), mode: .create, options: options)
        for _ in 0..<400 {
            let first = Int.random(in: 0..<40, using: &random)
            for number in first..<first + Int.random(in: 1...20, using: &random) {
                try connection.withStatement("SELECT \(number)") { statement in
                    try #require(try statement.step())
                    #expect(statement.int64(at: 0) == Int64(number))
                }
            }
        }
        #expect(connection.cache.count == 30)
    }

    @Test func aStatementThatOutlivesItsConnectionThrows() throws {
        try withTable { connection in
            let kept = try connection.prepare("SELECT ?1")
            connection.close()
            try expectSQLiteWrapperError(.closed) { _ = try kept.step() }
            try expectSQLiteWrapperError(.closed) { try connection.exec("SELECT 1") }
            try expectSQLiteWrapperError(.closed) { try connection.withStatement("SELECT 2") { _ in } }
            kept.clear()
        }
    }

    @Test(arguments: ["", "  ", "SELECT 1; SELECT 2", "SELECT FROM", "SELECT 1\u{0}", "SELECT \"x\"", "SELECT nothing"])
    func aWrongStatementIsAnErrorValue(sql: String) throws {
        try withTable { connection in
            try expectSQLiteWrapperError(.internalInconsistency) { _ = try connection.prepare(sql) }
        }
    }

    @Test func messagesHoldNoValues() throws {
        try withTable { connection in
            try connection.exec("CREATE UNIQUE INDEX u ON v (a); INSERT INTO v (a) VALUES ('secret')")
            let error = try requireSQLiteWrapperError(.uniqueViolation) {
                try connection.exec("INSERT INTO v (a) VALUES ('secret')")
            }
            #expect(!error.description.contains("secret"))
            let broken = try requireSQLiteWrapperError(.internalInconsistency) {
                try connection.exec("SELECT 'secret' FROM secrets")
            }
            #expect(!broken.description.contains("secret"))
        }
    }
}
