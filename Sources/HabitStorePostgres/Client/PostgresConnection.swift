import CPostgres
@_spi(Engines) import HabitStore

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// A statement with its values, ready to be sent to the server.
struct PostgresCall {
    let statement: PostgresStatement
    let values: [PostgresValue]

    init(_ statement: PostgresStatement, _ values: [PostgresValue]) {
        (self.statement, self.values) = (statement, values)
    }

    init(_ statement: PostgresStatement, _ values: PostgresValue...) { self.init(statement, values) }
}

/// Why statements that were sent together failed.
enum PostgresOutcome: Error {
    /// The server refused one of them and did not run those after it.
    case refused(PostgresFailure)
    /// The connection was lost or timed out: it is unknown what was run.
    case lost(PostgresFailure)
}

/// A connection to a server. It sends statements together and waits once for all answers.
///
/// Only one thread may use it at a time: see ``PostgresPool``.
final class PostgresConnection: @unchecked Sendable {
    private let connection: OpaquePointer
    private var prepared: Set<PostgresStatement> = []
    private let notices = Notices()
    /// Whether the connection can no longer be used.
    private(set) var isLost = false
    /// The statements that were sent and whose answers were not yet read.
    private var unread: [(call: PostgresCall, isPreparing: Bool)] = []

    /// The SQLSTATEs of the notices since the last call of ``tookNotice(_:)``.
    private final class Notices {
        var states: [String] = []
    }

    /// The default settings, unless the URI has others. With them, a server that disappears silently is noticed in seconds rather
    /// than in the system's two hours.
    private static let defaults = [
        ("target_session_attrs", "read-write"), ("connect_timeout", "2"), ("keepalives_idle", "5"),
        ("keepalives_interval", "2"), ("keepalives_count", "3"), ("tcp_user_timeout", "10000"),
        ("fallback_application_name", "habitstore"),
    ]

    /// Connects to the first host of a server that accepts writes.
    ///
    /// - Parameter deadline: limits the wait for each host, whatever the URI says.
    /// - Throws: ``PostgresOutcome`` if no host accepts writes.
    init(_ server: String, until deadline: Deadline) throws {
        let settings =
            Self.defaults + [("dbname", server), ("client_encoding", "UTF8")] + Self.limits(server, deadline)
        let opened = Self.withCStrings(settings.map(\.0)) { names in
            Self.withCStrings(settings.map(\.1)) { values in PQconnectdbParams(names, values, 1) }
        }
        guard let opened else {
            throw PostgresOutcome.lost(PostgresFailure(state: nil, message: "there is no memory for a connection"))
        }
        connection = opened
        guard PQstatus(opened) == CONNECTION_OK else {
            let message = Self.line(PQerrorMessage(opened))
            throw PostgresOutcome.lost(PostgresFailure(state: Self.state(ofConnecting: message), message: message))
        }
        PQsetNoticeReceiver(
            opened,
            { notices, result in
                guard let notices, let state = PQresultErrorField(result, Int32(UInt8(ascii: "C"))) else { return }
                Unmanaged<Notices>.fromOpaque(notices).takeUnretainedValue().states.append(String(cString: state))
            },
            Unmanaged.passUnretained(notices).toOpaque()
        )
        PQsetnonblocking(opened, 1)
        PQenterPipelineMode(opened)
    }

    deinit { PQfinish(connection) }

    /// Replacements for settings in a URI: a `connect_timeout` of 0 would mean no limit.
    private static func limits(_ server: String, _ deadline: Deadline) -> [(String, String)] {
        guard let given = setting("connect_timeout", of: server), let seconds = Int(given) else { return [] }
        // libpq waits at least 2 seconds.
        let most = max(2, (Int(deadline.remainingMilliseconds) + 999) / 1_000)
        return (1...most).contains(seconds) ? [] : [("connect_timeout", String(most))]
    }

    /// The value of a setting in a URI; nil if it is missing or the URI is invalid.
    private static func setting(_ name: String, of server: String) -> String? {
        guard let options = PQconninfoParse(server, nil) else { return nil }
        defer { PQconninfoFree(options) }
        var option = options
        while let keyword = option.pointee.keyword {
            if String(cString: keyword) == name { return option.pointee.val.map { String(cString: $0) } }
            option += 1
        }
        return nil
    }

    /// libpq has no SQLSTATE for a refused connection, but a client that will always be refused should not be told to retry.
    private static func state(ofConnecting message: String) -> String? {
        if message.contains("password authentication failed") || message.contains("no password supplied")
            || message.contains("no pg_hba.conf entry")
        {
            return "28000"
        }
        if message.contains("too many clients already") || message.contains("too many connections for")
            || message.contains("remaining connection slots are reserved")
        {
            return "53300"
        }
        if message.contains("database \""), message.contains("does not exist") { return "3D000" }
        return nil
    }

    /// libpq's message on one line.
    private static func line(_ text: UnsafePointer<CChar>?) -> String {
        guard let text else { return "" }
        return String(cString: text).split(whereSeparator: \.isNewline).map { $0.trimmingPrefix("\t") }
            .joined(separator: "; ")
    }

    private static func withCStrings<R>(
        _ texts: [String],
        _ body: (UnsafePointer<UnsafePointer<CChar>?>?) -> R
    ) -> R {
        let copies = texts.map { strdup($0) }
        defer { for copy in copies { free(copy) } }
        let pointers = copies.map { UnsafePointer($0) } + [nil]
        return pointers.withUnsafeBufferPointer { body($0.baseAddress) }
    }

    /// Whether the server has sent a notice with this SQLSTATE since the last call.
    func tookNotice(_ state: String) -> Bool {
        defer { notices.states.removeAll() }
        return notices.states.contains(state)
    }

    /// Whether it can be used for another transaction, as far as that is known without asking the server.
    func isUsable() -> Bool {
        guard !isLost else { return false }
        // The end of a connection is only visible after everything that was sent before it was read.
        repeat {
            guard PQconsumeInput(connection) == 1, PQstatus(connection) == CONNECTION_OK else { return false }
        } while hasArrived
        return !unread.isEmpty || PQtransactionStatus(connection) == PQTRANS_IDLE
    }

    /// Whether the system has data to read.
    private var hasArrived: Bool {
        var descriptor = pollfd(fd: PQsocket(connection), events: Int16(POLLIN), revents: 0)
        return poll(&descriptor, 1, 0) > 0
    }

    /// Whether a transaction is open.
    var isInTransaction: Bool {
        let status = PQtransactionStatus(connection)
        return status == PQTRANS_INTRANS || status == PQTRANS_INERROR
    }

    // MARK: Statements

    /// Sends statements together and waits for their answers.
    ///
    /// - Returns: an answer to each.
    /// - Throws: ``PostgresOutcome``.
    func run(_ calls: [PostgresCall], until deadline: Deadline) throws -> [PostgresResult] {
        guard !isLost else { throw PostgresOutcome.lost(Self.gone) }
        do {
            let isPreparing = try send(calls)
            try flush(deadline)
            for (call, isPreparing) in unread { _ = try? receive([call], [isPreparing], deadline) }
            unread.removeAll()
            return try receive(calls, isPreparing, deadline)
        } catch let outcome as PostgresOutcome {
            if case .lost = outcome { isLost = true }
            throw outcome
        }
    }

    /// Sends a statement without waiting for its answer, which is read before that of the next statement.
    func post(_ call: PostgresCall) {
        guard !isLost else { return }
        do {
            unread.append((call, try send([call])[0]))
            // Data that the system does not accept immediately is sent with the next statement.
            guard PQflush(connection) >= 0 else { throw PostgresOutcome.lost(failure) }
        } catch {
            isLost = true
        }
    }

    private static let gone = PostgresFailure(state: nil, message: "the connection is closed")

    private var failure: PostgresFailure {
        PostgresFailure(state: nil, message: Self.line(PQerrorMessage(connection)))
    }

    /// - Returns: for each statement, whether it was also sent to be prepared.
    private func send(_ calls: [PostgresCall]) throws -> [Bool] {
        var asked = prepared
        var isPreparing: [Bool] = []
        for call in calls {
            let statement = call.statement
            isPreparing.append(asked.insert(statement).inserted)
            if isPreparing[isPreparing.count - 1] {
                guard PQsendPrepare(connection, statement.name, statement.text, 0, nil) == 1 else {
                    throw PostgresOutcome.lost(failure)
                }
            }
            guard send(call) else { throw PostgresOutcome.lost(failure) }
        }
        guard PQpipelineSync(connection) == 1 else { throw PostgresOutcome.lost(failure) }
        return isPreparing
    }

    private func send(_ call: PostgresCall) -> Bool {
        var bytes: [UInt8] = []
        var starts: [Int] = []
        for value in call.values {
            starts.append(bytes.count)
            value.append(to: &bytes)
        }
        let ends = starts.dropFirst() + [bytes.count]
        let lengths = zip(starts, ends).map { Int32($1 - $0) }
        let formats = [Int32](repeating: 1, count: starts.count)
        // A null pointer would mean a null value, even for no bytes.
        bytes.append(0)
        return bytes.withUnsafeBytes { bytes in
            let values = starts.map { bytes.baseAddress?.advanced(by: $0).assumingMemoryBound(to: CChar.self) }
            return PQsendQueryPrepared(
                connection,
                call.statement.name,
                Int32(values.count),
                values,
                lengths,
                formats,
                1
            ) == 1
        }
    }

    private func flush(_ deadline: Deadline) throws {
        while true {
            switch PQflush(connection) {
            case 0: return
            case 1: try wait(for: Int16(POLLIN | POLLOUT), deadline)
            default: throw PostgresOutcome.lost(failure)
            }
            // Answers must be read meanwhile: the server may wait for that.
            guard PQconsumeInput(connection) == 1 else { throw PostgresOutcome.lost(failure) }
        }
    }

    private func wait(for events: Int16, _ deadline: Deadline) throws {
        var descriptor = pollfd(fd: PQsocket(connection), events: events, revents: 0)
        while true {
            guard !deadline.hasPassed else {
                throw PostgresOutcome.lost(
                    PostgresFailure(state: nil, message: "the server has not answered within the stated time")
                )
            }
            let found = poll(&descriptor, 1, deadline.remainingMilliseconds)
            if found > 0 { return }
            guard found == 0 || errno == EINTR else { throw PostgresOutcome.lost(failure) }
        }
    }

    // MARK: Answers

    private func receive(
        _ calls: [PostgresCall],
        _ isPreparing: [Bool],
        _ deadline: Deadline
    ) throws -> [PostgresResult] {
        var answers: [PostgresResult] = []
        var refusal: PostgresFailure?
        for (place, call) in calls.enumerated() {
            if isPreparing[place] {
                if try answer(&refusal, deadline) != nil { prepared.insert(call.statement) }
            }
            if let answer = try answer(&refusal, deadline) { answers.append(answer) }
        }
        guard let sync = try nextResult(deadline) else { throw PostgresOutcome.lost(failure) }
        let status = PQresultStatus(sync)
        PQclear(sync)
        guard status == PGRES_PIPELINE_SYNC else { throw PostgresOutcome.lost(failure) }
        if let refusal { throw PostgresOutcome.refused(refusal) }
        return answers
    }

    /// The answer to one statement; nil if it was refused, or not run because an earlier one was.
    private func answer(_ refusal: inout PostgresFailure?, _ deadline: Deadline) throws -> PostgresResult? {
        guard let found = try nextResult(deadline) else { throw PostgresOutcome.lost(failure) }
        let result = PostgresResult(found)
        // Each statement's answer ends with a separate null result.
        if let extra = try nextResult(deadline) {
            PQclear(extra)
            throw PostgresOutcome.lost(PostgresFailure(state: nil, message: "the server answered twice"))
        }
        switch PQresultStatus(found) {
        case PGRES_COMMAND_OK, PGRES_TUPLES_OK: return result
        case PGRES_PIPELINE_ABORTED: return nil
        default:
            let failure = PostgresFailure(
                state: Self.field(found, "C"),
                message: Self.field(found, "M") ?? Self.line(PQresultErrorMessage(found))
            )
            // After an error that ends the session, it is unknown what was done.
            guard Self.field(found, "V") == "ERROR" else { throw PostgresOutcome.lost(failure) }
            if refusal == nil { refusal = failure }
            return nil
        }
    }

    private static func field(_ result: OpaquePointer, _ code: Character) -> String? {
        guard let code = code.asciiValue, let text = PQresultErrorField(result, Int32(code)) else { return nil }
        return String(cString: text)
    }

    private func nextResult(_ deadline: Deadline) throws -> OpaquePointer? {
        while PQisBusy(connection) == 1 {
            try wait(for: Int16(POLLIN), deadline)
            guard PQconsumeInput(connection) == 1 else { throw PostgresOutcome.lost(failure) }
        }
        return PQgetResult(connection)
    }
}

/// A refusal of a server, as the underlying error of a ``HabitStoreError``.
struct PostgresFailure: Error, Equatable, CustomStringConvertible {
    /// The SQLSTATE, five characters; <https://www.postgresql.org/docs/current/errcodes-appendix.html>. Nil if the error is not
    /// from the server: the connection was lost, or never made.
    let state: String?
    /// The message of the server or of libpq. Contains no statement values.
    let message: String

    var description: String { state.map { "\(message) (\($0))" } ?? message }
}

/// Translates a server's refusals to errors. Nothing else does.
enum PostgresError {
    /// The error for a failure.
    static func error(_ failure: PostgresFailure, during action: String, at place: String) -> HabitStoreError {
        let (code, advice) = meaning(of: failure)
        return HabitStoreError(
            code,
            "\(action): \(advice) (\(failure.description))",
            at: .init(path: place),
            underlying: failure,
            isDamage: code == .corrupt
        )
    }

    /// An error that does not come from a server.
    static func error(_ code: HabitStoreError.Code, _ message: String, at place: String) -> HabitStoreError {
        HabitStoreError(code, message, at: .init(path: place), isDamage: code == .corrupt)
    }

    private static func meaning(of failure: PostgresFailure) -> (HabitStoreError.Code, String) {
        guard let state = failure.state else {
            return (.inputOutput, "the server cannot be reached; see that it runs, and try again")
        }
        switch state {
        case "40001", "40P01", "55P03", "57014":
            return (.busy, "other transactions kept the server from doing it in time, and nothing was done; try again")
        case "25P03":
            return (
                .busy,
                "a transaction was idle for more than ten minutes, and the server ended it; try again"
            )
        case "22012":
            return (.busy, "another writer changed the store meanwhile, and nothing was done; try again")
        case "42P01", "3F000":
            return (.notFound, "the server has no tables for stores; run `habitstore server prepare`")
        case "42703": return (.notFound, "the server's tables lack a column; see `habitstore server check`")
        case "25006": return (.busy, "the server is a standby now; try again, and the primary is looked for")
        case "53300":
            return (
                .busy,
                "the server has no connection left for this user; try again later, or raise max_connections or the user's limit"
            )
        case "53100": return (.full, "the server's disk is full")
        case "XX001", "XX002": return (.corrupt, "the server's data is damaged; restore a backup")
        default: break
        }
        switch state.prefix(2) {
        case "08", "57": return (.inputOutput, "the server went away; try again")
        case "28": return (.permissionDenied, "the server does not let this user in")
        case "42" where state == "42501": return (.permissionDenied, "the server does not allow this user to do that")
        case "3D": return (.notFound, "the server has no such database")
        case "53": return (.busy, "the server has no room for more work now; try again later")
        case "58": return (.inputOutput, "the server's disk failed")
        default: return (.internalInconsistency, "the server refused a statement")
        }
    }
}
