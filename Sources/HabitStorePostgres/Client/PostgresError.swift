import CPostgres
@_spi(Engines) import HabitStore

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
