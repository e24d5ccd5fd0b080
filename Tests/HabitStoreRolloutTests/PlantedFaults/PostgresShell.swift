import CPostgres
import HabitStore

/// A connection by libpq's own functions, as in `psql`.
final class PostgresShell {
    private let connection: OpaquePointer
    private let server: String

    init(_ server: String) throws {
        let separator = server.contains("?") ? "&" : "?"
        guard let connection = PQconnectdb("\(server)\(separator)target_session_attrs=read-write") else {
            throw HabitStoreError(.inputOutput, "there is no memory for a connection", at: .init(path: server))
        }
        guard PQstatus(connection) == CONNECTION_OK else {
            defer { PQfinish(connection) }
            throw HabitStoreError(
                .inputOutput,
                "the server refuses the connection: \(String(cString: PQerrorMessage(connection)))",
                at: .init(path: server)
            )
        }
        (self.connection, self.server) = (connection, server)
    }

    deinit { PQfinish(connection) }

    /// Runs a statement with parameters, all of them texts.
    ///
    /// - Returns: the rows, whose values are texts, too.
    @discardableResult
    func run(_ sql: String, _ parameters: [String] = []) throws -> [[String]] {
        let result = Self.withCStrings(parameters) {
            PQexecParams(connection, sql, Int32(parameters.count), nil, $0, nil, nil, 0)
        }
        defer { PQclear(result) }
        guard [PGRES_TUPLES_OK, PGRES_COMMAND_OK].contains(PQresultStatus(result)) else {
            let message = String(cString: PQresultErrorMessage(result))
            throw HabitStoreError(.inputOutput, "the server refuses \(sql): \(message)", at: .init(path: server))
        }
        return (0..<PQntuples(result)).map { row in
            (0..<PQnfields(result)).map { String(cString: PQgetvalue(result, row, $0)) }
        }
    }

    private static func withCStrings<R>(
        _ texts: [String],
        _ body: (UnsafePointer<UnsafePointer<CChar>?>?) -> R
    ) -> R {
        var bytes: [CChar] = []
        let starts = texts.map { text in
            defer { bytes += text.utf8CString }
            return bytes.count
        }
        return bytes.withUnsafeBufferPointer { bytes in
            let pointers = starts.map { start in bytes.baseAddress.map { $0 + start } }
            return pointers.withUnsafeBufferPointer { body($0.baseAddress) }
        }
    }
}
