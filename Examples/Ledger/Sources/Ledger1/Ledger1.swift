import Foundation
import GRDB
import LedgerFile

/// Version 1 of the app: GRDB alone. It knows nothing of HabitStore.
@main
enum Ledger1 {
    static func main() {
        do {
            try run(Array(CommandLine.arguments.dropFirst()))
        } catch {
            FileHandle.standardError.write(Data("Ledger1: \(error)\n".utf8))
            exit(1)
        }
    }

    private static func run(_ words: [String]) throws {
        switch words.first {
        case "add" where words.count >= 4:
            guard let amount = Int(words[1]) else {
                throw DatabaseError(message: "\(words[1]) is not an amount in cents")
            }
            try add(amount, to: words[2], note: words[3], labels: Array(words.dropFirst(4)))
        case "list":
            for line in try list() { print(line) }
        case "remove" where words.count == 2:
            try LedgerFile.open().write { db in
                _ = try Booking.filter(Column("note") == words[1]).deleteAll(db)
            }
        case "write" where words.count == 2:
            try write(words[1])
        default:
            print("Ledger1 add CENTS ACCOUNT NOTE [LABEL…], Ledger1 list, or Ledger1 remove NOTE")
        }
    }

    private static func add(_ amount: Int, to name: String, note: String, labels: [String]) throws {
        try LedgerFile.open().write { try insert(amount, to: name, note: note, labels: labels, $0) }
    }

    private static func insert(
        _ amount: Int,
        to name: String,
        note: String,
        labels: [String],
        _ db: Database
    ) throws {
        let account =
            try Account.filter(Column("name") == name).fetchOne(db) ?? Account(name: name).inserted(db)
        guard let accountId = account.id else { return }
        let booking = try Booking(date: Date(), amount: amount, note: note, accountId: accountId).inserted(db)
        for name in labels {
            let label = try Label.filter(Column("name") == name).fetchOne(db) ?? Label(name: name).inserted(db)
            guard let bookingId = booking.id, let labelId = label.id else { return }
            try BookingLabel(bookingId: bookingId, labelId: labelId).insert(db)
        }
    }

    private static func list() throws -> [String] {
        try LedgerFile.open().read { db in
            try Row.fetchAll(
                db,
                sql: """
                    SELECT booking.amount, booking.note, account.name FROM booking
                    JOIN account ON account.id = booking.accountId ORDER BY booking.date, booking.note
                    """
            ).map { row in line(row[0], row[1], row[2]) }
        }
    }

    /// Books without end, for tests: it says which bookings are on disk, and which were refused.
    private static func write(_ prefix: String) throws {
        let database = try LedgerFile.open()
        for number in 1... {
            let note = "\(prefix) \(number)"
            do {
                try database.write { db in
                    try insert(number, to: "Tests", note: note, labels: number.isMultiple(of: 3) ? ["third"] : [], db)
                    if number.isMultiple(of: 4) {
                        try db.execute(sql: "UPDATE booking SET amount = -amount WHERE note = ?", arguments: [note])
                    }
                }
                print("written \(note)")
            } catch let error as DatabaseError {
                print("refused \(note): \(error.message ?? "")")
            }
            fflush(nil)
            Thread.sleep(forTimeInterval: 0.005)
        }
    }

    private static func line(_ amount: Int, _ note: String?, _ account: String) -> String {
        "\(amount) \(account): \(note ?? "")"
    }
}

struct Account: Codable, FetchableRecord, MutablePersistableRecord {
    var id: Int64?
    var name: String

    mutating func didInsert(_ inserted: InsertionSuccess) { id = inserted.rowID }
}

struct Booking: Codable, FetchableRecord, MutablePersistableRecord {
    var id: Int64?
    var date: Date
    var amount: Int
    var note: String?
    var accountId: Int64
    var categoryId: Int64?

    mutating func didInsert(_ inserted: InsertionSuccess) { id = inserted.rowID }
}

struct Label: Codable, FetchableRecord, MutablePersistableRecord {
    var id: Int64?
    var name: String

    mutating func didInsert(_ inserted: InsertionSuccess) { id = inserted.rowID }
}

struct BookingLabel: Codable, PersistableRecord {
    var bookingId: Int64
    var labelId: Int64
}
