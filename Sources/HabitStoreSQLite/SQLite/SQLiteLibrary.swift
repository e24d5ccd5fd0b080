internal import CSQLite
import HabitStore

#if canImport(SQLite3)
internal import SQLite3
#endif

/// The requirements for the linked SQLite library.
enum SQLiteLibrary {
    /// STRICT tables were added in 3.37.
    static let minimumVersion: Int32 = 3_037_000

    /// The version of the library at run time, as 3040001 for 3.40.1. A shared library can differ from the header.
    static var version: Int32 { sqlite3_libversion_number() }

    /// Rejects a library that is too old or that was built without mutexes: connections are used from many threads.
    static func check(version: Int32 = Self.version, isThreadSafe: Bool = sqlite3_threadsafe() != 0) throws {
        guard version >= minimumVersion else {
            throw HabitStoreError(
                .unsupported,
                "this program needs SQLite \(text(of: minimumVersion)) or later and runs with \(text(of: version)); "
                    + "install a newer libsqlite3"
            )
        }
        guard isThreadSafe else {
            throw HabitStoreError(
                .unsupported,
                "the SQLite library was built without thread safety; install one built with SQLITE_THREADSAFE=1 or 2"
            )
        }
    }

    private static func text(of version: Int32) -> String {
        "\(version / 1_000_000).\(version / 1_000 % 1_000).\(version % 1_000)"
    }
}
